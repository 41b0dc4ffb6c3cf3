import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { keyId, once, postgresKeys } from '../../../src/keys/index.ts'
import { cli, startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { MORE_SCHEMAS } from '../../support/ledger-counts.ts'

test('an unknown command shows the commands and ends with 2; help ends with 0', async () => {
  const unknown = await cli(['dance'])
  expect(unknown.code).toBe(2)
  expect(unknown.stdout).toBe('')
  expect(unknown.stderr).toContain('there is no command "dance"')
  expect(unknown.stderr).toContain('replay')
  const help = await cli(['help'])
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(help.stdout).toContain('replay')
  const usage = await cli(['events', '--help'])
  expect(usage).toMatchObject({ code: 0 })
  expect(usage.stdout).toContain('hookonce events')
})

test.each(['--version', '-v', 'version'])('hookonce %s prints the version of the package', async (word) => {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  expect(await cli([word])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test('help of a command is its --help, and of an unknown one names it', async () => {
  const help = await cli(['help', 'show'])
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(help.stdout).toBe((await cli(['show', '--help'])).stdout)
  expect(help.stdout).toContain('hookonce show <receipt id')
  const unknown = await cli(['help', 'dance'])
  expect(unknown).toMatchObject({ code: 2, stdout: '' })
  expect(unknown.stderr).toContain('there is no command "dance"')
})

test.each([
  ['dev', 'now'],
  ['serve', 'hookonce.json'],
  ['migrate', 'now'],
  ['status', 'now'],
  ['events', 'stripe'],
  ['failures', 'stripe'],
  ['audit', 'all'],
  ['show', 'abc', 'def'],
  ['replay', 'abc', 'def'],
  ['attention', 'list', 'all'],
  ['attention', 'abandon', 'key', 'other'],
  ['rejections', 'stripe'],
  ['pause', 'demo', 'app', 'other'],
  ['resume', 'demo', 'app', 'other'],
  ['verify', 'stripe'],
])('hookonce %s refuses an unexpected argument', async (...args) => {
  const dir = join(temporaryDirectory(), 'none')
  const ended = await cli([...args, ...(['migrate', 'verify'].includes(args[0]) ? [] : ['--dir', dir])])
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  expect(ended.stderr).toContain(`CONFIG_INVALID: unexpected argument "${args.at(-1)}"`)
  expect(ended.stderr).toContain(`hookonce ${args[0]}`)
})

test('a usage error contains no unrelated advice', async () => {
  const ended = await cli(['show'])
  const [usage] = (await cli(['show', '--help'])).stdout.split('\n\nExamples:\n')
  expect(ended.stderr).toBe(
    `CONFIG_INVALID: give the id of a receipt, an event key or the id of an object\n\n${usage}\n`,
  )
  const none = await cli(['migrate'])
  expect(none.stderr).toBe('CONFIG_INVALID: set DATABASE_URL to the database to migrate\n')
})

test.each([
  { args: ['events', '--colour'], says: ['unknown option --colour', 'hookonce events [--state STATE]'] },
  { args: ['events', '--limit', '0'], says: ['--limit must be a number from 1 to 10000'] },
  {
    args: ['events', '--state', 'lost'],
    says: ['--state must be one of received, processing', 'not "lost"'],
  },
  { args: ['events', '--since', 'monday'], says: ['2h (ago) or 2026-01-31T12:00:00Z, not "monday"'] },
  { args: ['failures', '--until', '2026-99-01'], says: ['not "2026-99-01"'] },
  { args: ['show'], says: ['give the id of a receipt', 'hookonce show <receipt id'] },
  { args: ['replay'], says: ['give one receipt, --failed or --retrying'] },
  { args: ['replay', 'abc', '--failed'], says: ['give one receipt, --failed or --retrying'] },
  {
    args: ['replay', '--failed', '--since', 'yesterday'],
    says: ['2h (ago) or 2026-01-31T12:00:00Z, not "yesterday"'],
  },
  { args: ['resume'], says: ['give a source'] },
  { args: ['dev', '--port', 'http'], says: ['--port must be a number from 0 to 65535, not "http"'] },
  {
    args: ['serve', '--receive-only', '--work-only'],
    says: ['--receive-only and --work-only exclude each other'],
  },
  { args: ['migrate'], says: ['set DATABASE_URL'] },
  {
    args: ['ledgers', 'mvoe', 'acme'],
    says: ['unexpected argument "mvoe" (did you mean "move"?): give list, add or move'],
  },
])('hookonce $args ends with 1 and advice', async ({ args, says }) => {
  const ended = await cli(args)
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('CONFIG_INVALID')
  for (const text of says) expect(ended.stderr).toContain(text)
  expect(ended.stderr).not.toMatch(/^\s+at /m)
})

test('a command in a directory without a ledger explains how to get one, and creates none', async () => {
  const dir = `${temporaryDirectory()}/none`
  const ended = await cli(['events', '--dir', dir])
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain(`there is no ledger in ${dir}`)
})

test.each(['status', 'events', 'show', 'failures', 'replay', 'rejections', 'outbox', 'pause', 'audit'])(
  '%s in a directory that holds secrets but no database creates none',
  async (command) => {
    const dir = temporaryDirectory()
    // The state that `dev` leaves if it uses DATABASE_URL.
    writeFileSync(join(dir, 'demo-secret'), 'whsec_x\n')
    const words = { show: ['abc'], replay: ['abc'], pause: ['demo'] }[command] ?? []
    const ended = await cli([command, ...words, '--dir', dir])
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain(`there is no ledger in ${dir}`)
    expect(readdirSync(dir)).toEqual(['demo-secret'])
  },
)

test.each([
  { args: ['--forward-to', 'nonsense'], says: '--forward-to must be an http or https URL, not "nonsense"' },
  { args: ['--forward-to', 'localhost:3000'], says: '--forward-to must be an http or https URL' },
  { args: ['--forward-to', 'ftp://127.0.0.1/'], says: '--forward-to must be an http or https URL' },
  { args: ['--config', '/not/there.json'], says: '/not/there.json cannot be read' },
])('dev $args is refused before anything is created', async ({ args, says }) => {
  const dir = join(temporaryDirectory(), 'none')
  const ended = await cli(['dev', '--port', '0', '--dir', dir, ...args])
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  expect(ended.stderr).toContain(says)
  expect(existsSync(dir)).toBe(false)
})

test('dev on DATABASE_URL keeps its secrets out of git, and leaves a .gitignore as it is', async () => {
  const { url } = await freshDatabase()
  const dir = temporaryDirectory()
  const args = ['dev', '--port', '0', '--dir', dir, '--json', '--forward-to', 'http://127.0.0.1:1/']
  const first = startCli(args, { DATABASE_URL: url })
  await first.line('ready')
  await first.stop()
  expect(readdirSync(dir).sort()).toEqual(['.gitignore', 'demo-secret', 'forward-secret'])
  expect(readFileSync(join(dir, '.gitignore'), 'utf8')).toBe('*\n')

  writeFileSync(join(dir, '.gitignore'), '# mine\n')
  const second = startCli(args, { DATABASE_URL: url })
  await second.line('ready')
  await second.stop()
  expect(readFileSync(join(dir, '.gitignore'), 'utf8')).toBe('# mine\n')
})

test.each(['migrate', 'events', 'rejections'])(
  '%s on an invalid URL reports it, without a stack',
  async (command) => {
    const ended = await cli([command], { DATABASE_URL: 'mysql://localhost/x' })
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('postgres://')
    expect(ended.stderr).not.toMatch(/^\s+at /m)
  },
)

test.each(['migrate', 'events'])(
  '%s on an unreachable server reports it, without a stack',
  async (command) => {
    const ended = await cli([command], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('ECONNREFUSED')
    expect(ended.stderr).not.toMatch(/^\s+at /m)
  },
)

test('migrate applies each migration once: again, and two at once', async () => {
  const db = await freshDatabase()
  await db.pool.query('drop schema hookonce cascade')
  const env = { DATABASE_URL: db.url, HOOKONCE_LEDGERS: '' }
  const both = await Promise.all([cli(['migrate', '--json'], env), cli(['migrate', '--json'], env)])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  const applied = both.map((ran) => ran.json<{ applied: string[] }>().applied)
  const names = await db.rows<{ name: string }>('select name from hookonce.migration order by id')
  expect(applied.flat().sort()).toEqual(names.map(({ name }) => name))
  const again = await cli(['migrate'], env)
  expect(again).toMatchObject({ code: 0, stdout: 'the schema is up to date\n' })
  expect(await db.number('select count(*) from hookonce.migration')).toBe(names.length)
})

test('migrate --keys creates the table for a store that may not create it', async () => {
  const { url, pool } = await freshDatabase()
  const env = { DATABASE_URL: url }
  const store = postgresKeys({ database: url, table: 'order_keys', migrate: 'off' })
  onTestFinished(() => store.close())
  await expect(store.read(keyId('global', 'a'))).rejects.toThrow(/order_keys/)
  for (let n = 0; n < 2; n += 1) {
    const ended = await cli(['migrate', '--keys', '--table', 'order_keys'], env)
    expect(ended).toMatchObject({ code: 0, stdout: 'the table order_keys exists\n' })
  }
  expect(await once(store, 'a', () => 'ran', { tenant: 'global' })).toBe('ran')
  expect((await pool.query('select state from order_keys')).rows).toEqual([{ state: 'completed' }])
  const refused = await cli(['migrate', '--table', 'order_keys'], env)
  expect(refused.stderr).toContain('it needs --keys')
})

test('reading does not migrate: the error reports the missing schema', async () => {
  const db = await freshDatabase()
  await db.pool.query('drop schema hookonce cascade')
  // Without the ledgers that a run with several has: the command would name them.
  for (const schema of MORE_SCHEMAS) await db.pool.query(`drop schema ${schema} cascade`)
  const ended = await cli(['events'], { DATABASE_URL: db.url, HOOKONCE_LEDGERS: '' })
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('SCHEMA_MISSING')
  expect(ended.stderr).toContain('hookonce migrate')
  expect(await db.number(`select count(*) from pg_namespace where nspname = 'hookonce'`)).toBe(0)
})
