import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hookonce, type ReconcileReport } from '../../../src/index.ts'
import { stripe } from '../../../src/sources/index.ts'
import { cli, startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { newKey } from '../../support/encryption.ts'
import { configFile, configTo, deliver, destination, ENV, serveArgs } from '../../support/gateway.ts'
import { jobsAre } from '../../support/jobs.ts'
import { manyLedgers } from '../../support/many-ledgers.ts'
import { API_KEY, type RecordedApi, stripeApi } from '../../support/provider-api.ts'

const EVENTS = [
  { id: 'evt_1', type: 'invoice.paid', age: 500 },
  { id: 'evt_2', type: 'invoice.paid', age: 400 },
  { id: 'evt_3', type: 'customer.created', age: 300 },
  { id: 'evt_4', type: 'invoice.paid', age: 200 },
]

/** An app that has registered its subscriber and does not run now. */
async function stoppedApp(db: TestDatabase, ordered = false): Promise<void> {
  const hooks = hookonce({
    database: db.url,
    ...manyLedgers(db),
    sources: { stripe: stripe({ secret: 'whsec_of_the_app' }) },
    retention: { keyDays: 77 },
    maxConnections: 2,
  })
  hooks.on('stripe', 'invoice.*', () => undefined, {
    name: 'billing',
    ...(ordered ? { ordered: () => 'one' } : {}),
  })
  await hooks.ledger('stripe')
  await hooks.stop()
}

function args(api: RecordedApi, ...more: string[]): string[] {
  return ['reconcile', 'stripe', '--since', '1h', '--api-url', api.url, ...more]
}

test('reconcile reports missing events, then records them for the subscribers in the ledger', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  await stoppedApp(db)
  const env = { DATABASE_URL: db.url, STRIPE_API_KEY: API_KEY }

  const dry = await cli(args(api, '--dry-run'), env)
  expect(dry).toMatchObject({ code: 0 })
  expect(dry.stdout).toMatch(/invoice\.paid +evt_1 +[0-9a-f-]{36} +missing/)
  expect(dry.stdout).toContain('4 listed, 1 not wanted, 0 arrived, 3 missing, nothing recorded')
  expect(dry.stderr).toContain('no running worker serves "billing"')
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)

  const keyFile = join(temporaryDirectory(), 'key')
  writeFileSync(keyFile, `${API_KEY}\n`)
  const done = await cli(args(api, '--json', '--api-key', `file:${keyFile}`, '--why', 'outage'), {
    DATABASE_URL: db.url,
  })
  expect(done).toMatchObject({ code: 0 })
  const report = done.json<ReconcileReport>()
  expect(report).toMatchObject({ mode: 'record', missing: 3, recorded: 3 })
  expect(await db.rows('select state::text, count(*)::integer from hookonce.job group by 1')).toEqual([
    { state: 'received', count: 3 },
  ])
  // The command does not replace the app: the subscribers that the app registered stay.
  expect(await db.number('select key_seconds from hookonce.source')).toBe(77 * 86_400)
  const shown = await cli(['show', report.events[0]?.receiptId ?? ''], env)
  expect(shown.stdout).toMatch(/^received +.*reconciled: read from the provider's API/m)
  expect(shown.stdout).toMatch(/^deliveries +none$/m)
  const audit = await cli(['audit'], env)
  expect(audit.stdout).toMatch(/reconcile +.*stripe.*outage/)

  const again = await cli(args(api), env)
  expect(again.stdout).toContain('3 arrived, 0 missing, 0 recorded')
  expect(`${dry.stdout}${dry.stderr}${done.stdout}${done.stderr}`).not.toContain(API_KEY)
})

test('reconcile with a configuration feeds a running gateway, and a later delivery changes nothing', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  const app = await destination()
  const config = configFile(configTo(app.url))
  const env = { ...ENV, DATABASE_URL: db.url, STRIPE_API_KEY: API_KEY }
  const gateway = startCli(serveArgs(config), env)
  const { port } = await gateway.line<{ port: number }>('port')
  expect(await deliver(port, 'evt_2')).toBe(202)

  const done = await cli(args(api, '--config', config), env)
  expect(done).toMatchObject({ code: 0, stderr: '' })
  expect(done.stdout).toContain('1 arrived, 2 missing, 2 recorded')
  await jobsAre(db, 'processed', 3)
  expect(await deliver(port, 'evt_1')).toBe(200)
  expect(await gateway.stop()).toBe(0)
  const ids = app.bodies.map((body) => (JSON.parse(body) as { id: string }).id)
  expect(ids.sort()).toEqual(['evt_1', 'evt_2', 'evt_4'])
  expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
    { count: 1, mismatches: 0 },
  ])
})

test('Ctrl-C ends a run with a report of its work, and the next run does the rest', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  await stoppedApp(db)
  const env = { DATABASE_URL: db.url, STRIPE_API_KEY: API_KEY }
  let reached = (): void => undefined
  const isAtPage = new Promise<void>((resolve) => {
    reached = resolve
  })
  // Two pages forward, one back. The page on the way back never arrives.
  api.fault = (_url, count) => {
    if (count !== 3) return undefined
    reached()
    return new Promise(() => undefined)
  }
  const running = startCli(args(api), env)
  await isAtPage
  expect(await running.stop('SIGINT')).toBe(130)
  expect(running.output.stdout).toContain('2 missing, 2 recorded')
  expect(running.output.stdout).toContain('not complete: the run was interrupted')
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)

  api.fault = () => undefined
  expect((await cli(args(api), env)).stdout).toContain('2 arrived, 1 missing, 1 recorded')
})

test('an API that fails ends a run with 1, a report and advice', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  await stoppedApp(db)
  const env = { DATABASE_URL: db.url, STRIPE_API_KEY: 'sk_test_wrong' }
  const refused = await cli(args(api), env)
  expect(refused).toMatchObject({ code: 1 })
  expect(refused.stdout).toMatch(/not complete: PROVIDER_API_REFUSED: .*answered 401/)
  expect(refused.stdout).toContain('Check the API key')
  expect(refused.stdout).not.toContain('sk_test_wrong')
})

test('the order of an ordered subscriber is known only to its app, so the command refuses', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  await stoppedApp(db, true)
  await db.rows(`insert into hookonce.job (shard, receipt_id, subscriber, state, lane, lane_seq)
    select 0, gen_random_uuid(), id, 'processed', gen_random_uuid(), 1 from hookonce.subscriber`)
  const refused = await cli(args(api), { DATABASE_URL: db.url, STRIPE_API_KEY: API_KEY })
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toContain(
    `only the app knows the order keys of "billing": call hooks.reconcile('stripe', …)`,
  )
  expect(api.requests).toEqual([])
})

test.each([
  { given: [], says: 'give the name of a source' },
  { given: ['stripe', '--dry-run', '--record'], says: '--dry-run and --record exclude each other' },
  { given: ['stripe'], says: 'give the key of the API with --api-key env:NAME, or set STRIPE_API_KEY' },
  { given: ['stripe', '--api-key', 'sk_live_1'], says: 'pass the secret as "env:NAME" or "file:/path"' },
  { given: ['stripe', '--api-key', 'env:KEY', '--since', 'soon'], says: 'a time is written as 2h (ago)' },
  {
    given: ['nosuch', '--provider', 'stripe', '--api-key', 'env:KEY'],
    says: 'the ledger knows no source "nosuch"',
  },
  { given: ['stripe', '--api-key', 'env:KEY', '--hook', 'a/b/1'], says: 'unknown "hook"; allowed: apiKey' },
  { given: ['stripe', '--provider', 'slack'], says: 'of provider "slack", whose events cannot be listed' },
])('reconcile $given is refused: $says', async ({ given, says }) => {
  const db = await freshDatabase()
  await stoppedApp(db)
  const ended = await cli(['reconcile', ...given], { DATABASE_URL: db.url, KEY: API_KEY })
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  expect(ended.stderr).toContain(says)
  expect(ended.stderr).not.toContain('sk_live_1')
})

test('a source of several tenants is named with its tenant', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  await stoppedApp(db)
  await db.rows(
    `insert into hookonce.source (tenant, name, key_seconds, body_seconds) values ('acme', 'stripe', 8640000, 1)`,
  )
  await db.rows(
    `insert into hookonce.subscriber (tenant, source, name, pattern) values ('acme', 'stripe', 'mail', 'customer.*')`,
  )
  const env = { DATABASE_URL: db.url, STRIPE_API_KEY: API_KEY }
  const refused = await cli(args(api), env)
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toContain(
    'several tenants have a source "stripe": pass one of acme, default with --tenant',
  )
  expect((await cli(args(api, '--tenant', 'acme'), env)).stdout).toContain('1 missing, 1 recorded')
  expect(await db.rows('select tenant, event_key as key from hookonce.receipt')).toEqual([
    { tenant: 'acme', key: 'evt_3' },
  ])
})

test('with a configuration, reconciled events are encrypted by the key of the environment', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  const config = configFile(configTo('http://127.0.0.1:9/'))
  const env = { ...ENV, DATABASE_URL: db.url, STRIPE_API_KEY: API_KEY, HOOKONCE_ENCRYPTION_KEY: newKey() }
  const done = await cli(args(api, '--config', config), env)
  expect(done, done.stderr).toMatchObject({ code: 0 })
  expect(await db.rows('select distinct body is null as sealed from hookonce.receipt')).toEqual([
    { sealed: true },
  ])
})
