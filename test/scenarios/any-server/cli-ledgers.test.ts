import { once } from 'node:events'
import { expect, test } from 'vitest'
import { cli, startCli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliverTo, fleetHooks } from '../../support/fleet.ts'
import { until } from '../../support/until.ts'

/** A database without a ledger named `hookonce`, which the template of the tests has. */
async function emptyDatabase() {
  const db = await freshDatabase()
  await db.rows('drop schema hookonce cascade')
  const env = { DATABASE_URL: db.url, HOOKONCE_LEDGERS: '3' }
  return { db, env }
}

interface Listed {
  readonly name: string
  readonly tenants: readonly string[]
  readonly error?: string
}

test('ledgers are created, listed and added', async () => {
  const { db, env } = await emptyDatabase()
  const made = await cli(['migrate', '--ledgers', '2'], env)
  expect(made).toMatchObject({ code: 0 })
  const listed = await cli(['ledgers', '--json'], env)
  expect(listed.json<Listed[]>().map(({ name, error }) => [name, error])).toEqual([
    ['hookonce_0', undefined],
    ['hookonce_1', undefined],
    ['hookonce_2', expect.stringContaining('the schema "hookonce_2" holds no ledger')],
  ])
  // The missing ledger holds nothing, so the other ledgers answer, and its absence is reported.
  const events = await cli(['events'], env)
  expect(events).toMatchObject({ code: 0, stderr: expect.stringContaining('hookonce_2 cannot be read') })

  const add = ['ledgers', 'add', '--by', 'ann', '--why', 'more tenants']
  const added = await cli(add, { ...env, HOOKONCE_LEDGERS: '2' })
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('created hookonce_2') })
  expect(await cli(['events'], env)).toMatchObject({ code: 0, stderr: '' })

  // It exists now, so another try changes nothing.
  expect(await cli(add, { ...env, HOOKONCE_LEDGERS: '2' })).toMatchObject({ code: 0 })
  expect(await decisions(db, 'hookonce_2')).toEqual([
    { actor: 'cli:ann', action: 'add-ledger', why: 'more tenants', tenant: '*', subject: 'hookonce_2' },
  ])
})

function decisions(db: TestDatabase, ledger: string): Promise<unknown[]> {
  return db.rows(`select actor, action, why, tenant, subject from ${ledger}.audit order by id`)
}

test('a ledger is moved to a node only with a reason; a refused move leaves no entry in the audit', async () => {
  const { db, env } = await emptyDatabase()
  await cli(['migrate', '--ledgers', '3'], env)
  const move = ['ledgers', 'move', 'hookonce_1', '--node', 'worker2:5432']
  const unexplained = await cli(move, env)
  expect(unexplained).toMatchObject({ code: 1, stdout: '' })
  expect(unexplained.stderr).toContain('move needs --why: the audit records the reason')

  const plain = await cli([...move, '--why', 'worker1 is full'], env)
  expect(plain).toMatchObject({ code: 1, stdout: '' })
  expect(plain.stderr).toContain('the ledger hookonce_1 is not distributed; run')
  expect(await decisions(db, 'hookonce_1')).toEqual([])
})

test('if HOOKONCE_LEDGERS is missing, the error names the number of ledgers', async () => {
  const { db, env } = await emptyDatabase()
  await cli(['migrate', '--ledgers', '3'], env)
  const { code, stderr } = await cli(['events'], { DATABASE_URL: db.url })
  expect(code).not.toBe(0)
  expect(stderr).toContain('there are 3 ledgers named hookonce_0 and so on: set HOOKONCE_LEDGERS=3')
  expect(stderr).not.toContain('hookonce migrate')
})

test('a process creates every ledger, also those in which no tenant lives yet', async () => {
  const { db, env } = await emptyDatabase()
  const hooks = fleetHooks(db, ['alpha']).on('alpha', '*', () => undefined)
  await hooks.start()
  await until('all of them are made', async () => {
    const listed = await cli(['ledgers', '--json'], env)
    return listed.json<Listed[]>().every(({ error }) => error === undefined)
  })
})

test('a move that is killed while a tenant works continues when it is started again', async () => {
  const { db, env } = await emptyDatabase()
  const effects = new Map<string, number>()
  const hooks = fleetHooks(db, ['alpha'], { ledgers: { count: 3, tenants: { alpha: 'hookonce_1' } } })
  hooks.on('alpha', '*', (event, ctx) =>
    ctx.effect(event.key, () => void effects.set(event.key, (effects.get(event.key) ?? 0) + 1)),
  )
  await hooks.start()
  const acknowledged: string[] = []
  let isSending = true
  const sent = (async () => {
    for (let n = 0; isSending; n += 1) {
      const id = `evt_${n}`
      // Sends like a provider: again until the event is accepted.
      while ((await deliverTo(hooks, 'alpha', id)) >= 300) await new Promise(setImmediate)
      acknowledged.push(id)
    }
  })()
  await until('some took effect', () => effects.size > 200)
  const move = ['ledgers', 'move', 'alpha', 'hookonce_2', '--why', 'more room']
  const killed = startCli(move, env)
  await until('it copies', () => killed.output.stderr.includes('copying'))
  const gone = once(killed.child, 'exit')
  killed.child.kill('SIGKILL')
  await gone

  const moved = await cli([...move, '--json'], env)
  expect(moved).toMatchObject({ code: 0 })
  expect(moved.json()).toEqual({ tenant: 'alpha', from: 'hookonce_1', to: 'hookonce_2' })
  const before = acknowledged.length
  await until('events are accepted in the new ledger', () => acknowledged.length > before + 20)
  isSending = false
  await sent
  await until('all took effect', () => effects.size === acknowledged.length)
  expect([...effects].filter(([, count]) => count !== 1)).toEqual([])
  expect(await db.number('select count(*) from hookonce_1.receipt')).toBe(0)
  expect(await db.number('select count(*) from hookonce_2.receipt')).toBe(acknowledged.length)
  expect((await cli(['audit'], env)).stdout).toContain('more room')
})
