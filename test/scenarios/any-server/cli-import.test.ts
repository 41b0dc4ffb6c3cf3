import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hookonce } from '../../../src/index.ts'
import type { ImportReport } from '../../../src/operate/import.ts'
import { sign, stripe } from '../../../src/sources/index.ts'
import { CLI_ENV, cli, MAIN, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { manyLedgers } from '../../support/many-ledgers.ts'
import { until } from '../../support/until.ts'

const source = stripe({ secret: 'whsec_of_the_app' })

function app(db: TestDatabase) {
  const ran: string[] = []
  const hooks = hookonce({
    database: db.url,
    ...manyLedgers(db),
    sources: { stripe: source },
    maxConnections: 2,
  })
  hooks.on('stripe', 'invoice.paid', (event) => void ran.push(event.key))
  onTestFinished(() => hooks.stop())
  const deliver = async (key: string): Promise<number> => {
    const created = Math.floor(Date.now() / 1_000)
    const body = JSON.stringify({ id: key, type: 'invoice.paid', created, data: { object: { id: 'in_1' } } })
    const request = new Request('http://x/webhooks/stripe', {
      method: 'POST',
      body,
      headers: sign(source, { body }),
    })
    return (await hooks.fetch(request)).status
  }
  return { hooks, ran, deliver }
}

function file(name: string, text: string): string {
  const path = join(temporaryDirectory(), name)
  writeFileSync(path, text)
  return path
}

test('an event that another system processed is a duplicate here, and any other event is new', async () => {
  const db = await freshDatabase()
  const { hooks, ran, deliver } = app(db)
  await hooks.start()
  const env = { DATABASE_URL: db.url }
  const keys = file('keys.csv', 'id,kind\nevt_1,invoice.paid\nevt_2,\nevt_1,invoice.paid\n')
  const args = ['import', 'stripe', keys, '--key', 'id', '--type', 'kind']

  const dry = await cli([...args, '--dry-run'], env)
  expect(dry.stdout).toBe('stripe: 3 keys read, 2 would be imported, 0 known already, 1 repeated\n')
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)

  const done = await cli([...args, '--why', 'the switch', '--by', 'ann'], env)
  expect(done).toMatchObject({ code: 0, stderr: '' })
  expect(done.stdout).toBe('stripe: 3 keys read, 2 imported, 0 known already, 1 repeated\n')
  const again = await cli([...args, '--why', 'the switch', '--json'], env)
  expect(again.json<ImportReport>()).toMatchObject({ imported: 0, known: 2, unfinished: 0 })
  expect(await db.rows('select event_type, body, secret from hookonce.receipt order by event_key')).toEqual([
    { event_type: 'invoice.paid', body: null, secret: -1 },
    { event_type: 'imported', body: null, secret: -1 },
  ])

  expect([await deliver('evt_1'), await deliver('evt_2'), await deliver('evt_3')]).toEqual([200, 200, 202])
  await until('the new one ran', () => (ran.includes('evt_3') ? true : undefined))
  expect(ran).toEqual(['evt_3'])
  expect(await db.number('select count(*) from hookonce.job')).toBe(1)
  // A copy of an imported event is never a mismatch, with any body.
  const shown = await until('the copy is counted', async () => {
    const { stdout } = await cli(['show', 'evt_1'], env)
    return /^deliveries +1$/m.test(stdout) ? stdout : undefined
  })
  expect(shown).toMatch(/^received +.*imported by `hookonce import`$/m)
  expect(shown).toContain('no jobs: another system had processed it')
  expect(shown).toContain('imported without a body')
  expect(await db.number('select coalesce(sum(mismatches), 0) from hookonce.duplicate')).toBe(0)
  const audit = await cli(['audit', '--json'], env)
  expect(audit.stdout).toContain('"import"')
  expect(audit.stdout).toContain('cli:ann')
})

test('an event that arrived before its key was imported is reported, and not changed', async () => {
  const db = await freshDatabase()
  const { deliver } = app(db)
  expect(await deliver('evt_early')).toBe(202)
  const keys = file('keys', 'evt_early\nevt_late\n')
  const done = await cli(['import', 'stripe', keys, '--why', 'x'], { DATABASE_URL: db.url })
  expect(done.stdout).toContain('2 keys read, 1 imported, 1 known already')
  expect(done.stdout).toMatch(
    /1 of the known events arrived here before the import[\s\S]*hookonce show [0-9a-f-]{36}/,
  )
  expect(await db.rows('select state::text from hookonce.job')).toEqual([{ state: 'received' }])
})

test('keys come through a pipe', async () => {
  const db = await freshDatabase()
  await app(db).hooks.ledger('stripe')
  const keys = Array.from({ length: 2_500 }, (_, n) => `evt_${n}`).join('\n')
  const printed = execFileSync(process.execPath, [MAIN, 'import', 'default/stripe', '--why', 'x'], {
    input: keys,
    env: { ...CLI_ENV, DATABASE_URL: db.url },
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  expect(printed).toContain('2500 keys read, 2500 imported')
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2_500)
})

test('a key that expired is imported anew', async () => {
  const db = await freshDatabase()
  const { hooks, deliver } = app(db)
  await hooks.ledger('stripe')
  const args = ['import', 'stripe', file('keys', 'evt_1\n'), '--why', 'x', '--json']
  await cli(args, { DATABASE_URL: db.url })
  await db.pool.query(`update hookonce.receipt set received_at = now() - interval '200 days'`)
  const again = await cli(args, { DATABASE_URL: db.url })
  expect(again.json<ImportReport>()).toMatchObject({ imported: 1, known: 0 })
  expect(await deliver('evt_1')).toBe(200)
})

test('an imported event cannot be replayed: there is nothing to process', async () => {
  const db = await freshDatabase()
  const { hooks, ran } = app(db)
  await hooks.start()
  const env = { DATABASE_URL: db.url }
  await cli(['import', 'stripe', file('keys', 'evt_1\n'), '--why', 'x'], env)
  const [receipt] = await db.rows<{ id: string }>('select id from hookonce.receipt')
  const replayed = await cli(['replay', receipt?.id ?? ''], env)
  expect(replayed).toMatchObject({ code: 1 })
  expect(ran).toEqual([])
  expect(await db.number('select count(*) from hookonce.job')).toBe(0)
})

test('the lines before a wrong line are imported, and the error names the line', async () => {
  const db = await freshDatabase()
  const { hooks } = app(db)
  await hooks.ledger('stripe')
  const env = { DATABASE_URL: db.url }
  const lines = [...Array.from({ length: 1_500 }, (_, n) => `{"key":"evt_${n}"}`), 'oops'].join('\n')
  const failed = await cli(['import', 'stripe', file('keys.jsonl', lines), '--why', 'x'], env)
  expect(failed).toMatchObject({ code: 1 })
  expect(failed.stderr).toContain('line 1501: not a JSON object')
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1_500)
})

const REFUSED: readonly (readonly [readonly string[], string])[] = [
  [['import', 'strype', '-', '--why', 'x'], 'the ledger knows no source "strype" (did you mean "stripe"?)'],
  [['import', 'acme/stripe', '-', '--why', 'x'], 'the ledger knows no source "stripe" of tenant "acme"'],
  [['import', 'stripe', 'missing.csv', '--why', 'x'], 'there is no file "missing.csv"'],
  [['import', 'stripe', '-'], 'give the reason with --why'],
  [
    ['import', 'stripe', '-', '--why', 'x', '--format', 'xml'],
    '--format must be one of keys, jsonl, csv, not "xml"',
  ],
  [['import'], 'give the name of a source'],
]

test('contradictory arguments are refused, with advice', async () => {
  const db = await freshDatabase()
  await app(db).hooks.ledger('stripe')
  for (const [args, says] of REFUSED) {
    const refused = await cli(args, { DATABASE_URL: db.url })
    expect(refused).toMatchObject({ code: 1 })
    expect(refused.stderr).toContain(says)
  }
})
