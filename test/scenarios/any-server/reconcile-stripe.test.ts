import { expect, onTestFinished, test } from 'vitest'
import { type Event, hookonce, type ReconcileOptions } from '../../../src/index.ts'
import { stripe } from '../../../src/sources/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { jobsAre } from '../../support/jobs.ts'
import { manyLedgers } from '../../support/many-ledgers.ts'
import { API_KEY, type RecordedApi, stripeApi, stripeEvent } from '../../support/provider-api.ts'

const SECRET = 'whsec_of_the_tests'
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }
/** Five events of the last day. The oldest is on the last page. */
const EVENTS = [
  { id: 'evt_1', type: 'invoice.paid', age: 500 },
  { id: 'evt_2', type: 'invoice.paid', age: 400 },
  { id: 'evt_3', type: 'customer.created', age: 300 },
  { id: 'evt_4', type: 'invoice.paid', age: 200 },
  { id: 'evt_5', type: 'invoice.paid', age: 100 },
]

function stripeHooks(db: TestDatabase, mismatch: 'keep-first' | 'reject' = 'keep-first') {
  const hooks = hookonce({
    database: db.url,
    ...manyLedgers(db),
    sources: { stripe: stripe({ secret: SECRET, mismatch }) },
    logger: SILENT,
    pollMs: 20,
    maxConnections: 4,
  })
  onTestFinished(() => hooks.stop({ drainMs: 0 }))
  return hooks
}

function optionsOf(api: RecordedApi, more: Partial<ReconcileOptions> = {}): ReconcileOptions {
  return { apiKey: API_KEY, apiUrl: api.url, since: new Date(Date.now() - 3_600_000), ...more }
}

/** A signed delivery of the event, in Stripe's rendering. */
async function deliver(
  hooks: ReturnType<typeof stripeHooks>,
  id: string,
  type = 'invoice.paid',
): Promise<Response> {
  const body = stripeEvent({ id, type, age: 100 }, 0)
  const headers = stripe({ secret: SECRET }).sign({ body })
  return hooks.fetch(new Request('http://app.test/in/stripe', { method: 'POST', body, headers }))
}

const KEYS = 'select event_key as key, secret from hookonce.receipt order by event_key'

test('missing events are recorded once, and everything else stays unchanged', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  const runs: Event[] = []
  const hooks = stripeHooks(db)
  hooks.on('stripe', 'invoice.*', (event) => void runs.push(event))
  await hooks.start()
  expect((await deliver(hooks, 'evt_2')).status).toBe(202)
  await jobsAre(db, 'processed', 1)

  const report = await hooks.reconcile('stripe', optionsOf(api, { by: 'ann', why: 'outage at noon' }))
  await jobsAre(db, 'processed', 4)

  expect(report).toMatchObject({
    source: 'stripe',
    mode: 'record',
    listed: 5,
    unwanted: 1,
    arrived: 1,
    missing: 3,
    recorded: 3,
    stopped: undefined,
  })
  // The oldest first: an ordered subscriber gets them in the order of their occurrence.
  expect(report.events.map(({ key, outcome }) => [key, outcome])).toEqual([
    ['evt_1', 'recorded'],
    ['evt_4', 'recorded'],
    ['evt_5', 'recorded'],
  ])
  expect(await db.rows(KEYS)).toEqual([
    { key: 'evt_1', secret: 0 },
    { key: 'evt_2', secret: 1 },
    { key: 'evt_4', secret: 0 },
    { key: 'evt_5', secret: 0 },
  ])
  const reconciled = runs.filter(({ headers }) => headers['x-hookonce-reconciled'] !== undefined)
  expect(reconciled.map(({ key }) => key).sort()).toEqual(['evt_1', 'evt_4', 'evt_5'])
  const [body] = await db.rows<{ body: Buffer }>(
    `select body from hookonce.receipt where event_key = 'evt_1'`,
  )
  expect(String(body?.body)).toContain('"amount_paid":12345678901234567890')
  expect(await db.rows('select actor, action, why, subject from hookonce.audit')).toEqual([
    { actor: 'ann', action: 'reconcile', why: 'outage at noon', subject: 'stripe' },
  ])

  const again = await hooks.reconcile('stripe', optionsOf(api))
  expect(again).toMatchObject({ listed: 5, arrived: 4, missing: 0, recorded: 0, events: [] })
  expect(await db.number('select count(*) from hookonce.duplicate')).toBe(0)
  expect(await db.number('select count(*) from hookonce.audit')).toBe(1)
  expect(runs).toHaveLength(4)
})

test.each(['keep-first', 'reject'] as const)(
  'a delivery after the reconciliation is a duplicate, although its body differs (mismatch: %s)',
  async (mismatch) => {
    const db = await freshDatabase()
    const api = await stripeApi(EVENTS)
    const runs: string[] = []
    const hooks = stripeHooks(db, mismatch)
    hooks.on('stripe', 'invoice.*', (event) => void runs.push(event.key))
    await hooks.start()
    await hooks.reconcile('stripe', optionsOf(api))
    await jobsAre(db, 'processed', 4)

    for (const delivery of [await deliver(hooks, 'evt_1'), await deliver(hooks, 'evt_1')]) {
      expect(delivery.status).toBe(200)
      expect(await delivery.json()).toMatchObject({ status: 'duplicate' })
    }
    await hooks.stop()
    expect(runs).toHaveLength(4)
    expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
      { count: 2, mismatches: 0 },
    ])
    expect(await db.number('select count(*) from hookonce.job')).toBe(4)
  },
)

test('the delay of a rate limit is honoured, and a broken page is read again', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  api.fault = (_url, count) => {
    if (count === 2)
      return { status: 429, headers: { 'retry-after': '0' }, body: '{"error":{"code":"rate_limit"}}' }
    if (count === 4) return { status: 200, body: '{ "object": "list", "data": [ {"id": "evt_' }
    return count === 5 ? { status: 503 } : undefined
  }
  const waits: string[] = []
  const hooks = stripeHooks(db)
  hooks.on('stripe', 'invoice.*', () => undefined)
  const report = await hooks.reconcile(
    'stripe',
    optionsOf(api, { onProgress: ({ wait }) => void (wait && waits.push(wait.why)) }),
  )
  expect(report).toMatchObject({ missing: 4, recorded: 4, stopped: undefined })
  expect(waits).toEqual(['rate limit', expect.stringContaining('SyntaxError'), 'status 503'])
})

test('a page that has expired ends the run with a report, and the next run does the rest', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  // Three pages forward, then two back: the last page is gone.
  api.fault = (_url, count) =>
    count === 5 ? { status: 400, body: `{"error":{"message":"No such event, key ${API_KEY}"}}` } : undefined
  const hooks = stripeHooks(db)
  hooks.on('stripe', 'invoice.*', () => undefined)
  const report = await hooks.reconcile('stripe', optionsOf(api))
  expect(report).toMatchObject({ recorded: 2, stopped: { reason: 'failed' } })
  expect(report.stopped?.message).toContain('PROVIDER_API_REFUSED')
  expect(report.stopped?.message).toContain('No such event, key …')
  expect(JSON.stringify(report)).not.toContain(API_KEY)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)

  expect(await hooks.reconcile('stripe', optionsOf(api))).toMatchObject({ arrived: 2, recorded: 2 })
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(4)
})

test('an interrupted run records the events that it has read, and reports it', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  const hooks = stripeHooks(db)
  hooks.on('stripe', 'invoice.*', () => undefined)
  const interruption = new AbortController()
  // Runs before the answer to the second page on the way back.
  api.fault = (_url, count) => void (count === 5 && interruption.abort())
  const report = await hooks.reconcile('stripe', optionsOf(api, { signal: interruption.signal }))
  expect(report).toMatchObject({ recorded: 2, stopped: { reason: 'interrupted' } })
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)
  expect(await db.number('select count(*) from hookonce.audit')).toBe(1)
})

test('a report changes nothing, and a limit ends a run', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  const hooks = stripeHooks(db)
  hooks.on('stripe', 'invoice.*', () => undefined)
  const report = await hooks.reconcile('stripe', optionsOf(api, { mode: 'report' }))
  expect(report).toMatchObject({ mode: 'report', missing: 4, recorded: 0 })
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
  expect(await db.number('select count(*) from hookonce.audit')).toBe(0)

  const limited = await hooks.reconcile('stripe', optionsOf(api, { limit: 3 }))
  expect(limited).toMatchObject({ missing: 3, recorded: 3, stopped: { reason: 'limit' } })
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(3)
})

test('types that Stripe does not send are not missing', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  const hooks = stripeHooks(db)
  hooks.on('stripe', '*', () => undefined)
  // The list has every event of the account.
  await expect(hooks.reconcile('stripe', optionsOf(api))).rejects.toThrow('--endpoint we_')
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)

  const noted = await hooks.reconcile('stripe', optionsOf(api, { mode: 'report' }))
  expect(noted).toMatchObject({
    missing: 5,
    notes: [expect.any(String), expect.stringContaining('every type')],
  })
  const ofEndpoint = await hooks.reconcile('stripe', optionsOf(api, { mode: 'report', endpoint: 'we_app' }))
  expect(ofEndpoint).toMatchObject({ missing: 4, unwanted: 1 })
  const ofTypes = await hooks.reconcile('stripe', optionsOf(api, { types: ['customer.created'] }))
  expect(ofTypes).toMatchObject({ listed: 1, missing: 1, recorded: 1 })
  expect(api.requests.at(-1)).toContain('types[0]=customer.created')
})

test('events run in the order in which they occurred, for an ordered subscriber', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  const order: string[] = []
  const hooks = stripeHooks(db)
  hooks.on('stripe', 'invoice.*', (event) => void order.push(event.key), { ordered: () => 'one' })
  await hooks.start()
  await hooks.reconcile('stripe', optionsOf(api))
  await jobsAre(db, 'processed', 4)
  expect(order).toEqual(['evt_1', 'evt_2', 'evt_4', 'evt_5'])
})

test('a source that cannot be reconciled is refused before the API is called', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS)
  const hooks = stripeHooks(db)
  hooks.on('stripe', 'invoice.*', () => undefined)
  const old = new Date(Date.now() - 400 * 86_400_000)
  await expect(hooks.reconcile('stripe', optionsOf(api, { since: old }))).rejects.toThrow('keeps the keys')
  await expect(hooks.reconcile('stripe', optionsOf(api, { hook: 'octo/app/1' }))).rejects.toThrow(
    'unknown "hook"',
  )
  await expect(
    hooks.reconcile('stripe', optionsOf(api, { apiUrl: 'http://api.example.com' })),
  ).rejects.toThrow('must be an https:// URL')
  await expect(hooks.reconcile('nosuch' as 'stripe', optionsOf(api))).rejects.toThrow('no source "nosuch"')
  expect(api.requests).toEqual([])
  const wrongKey = await hooks.reconcile('stripe', optionsOf(api, { apiKey: 'sk_test_wrong' }))
  expect(wrongKey.stopped?.message).toMatch(/answered 401: .*Invalid key: Bearer …/)
})

test('a delivery cannot carry the mark of a reconciled event', async () => {
  const db = await freshDatabase()
  const hooks = stripeHooks(db)
  hooks.on('stripe', '*', () => undefined)
  const body = stripeEvent({ id: 'evt_9', type: 'invoice.paid', age: 1 })
  const headers = { ...stripe({ secret: SECRET }).sign({ body }), 'X-Hookonce-Reconciled': 'by a stranger' }
  await hooks.fetch(new Request('http://app.test/in/stripe', { method: 'POST', body, headers }))
  const [row] = await db.rows<{ headers: string; secret: number }>(
    'select headers, secret from hookonce.receipt',
  )
  expect(row?.headers.toLowerCase()).toContain('stripe-signature')
  expect(row?.headers.toLowerCase()).not.toContain('reconciled')
  expect(row?.secret).toBe(1)
})

test('events of a connected account name it, as their deliveries do', async () => {
  const db = await freshDatabase()
  const api = await stripeApi(EVENTS.slice(0, 1))
  const accounts: (string | undefined)[] = []
  const hooks = stripeHooks(db)
  hooks.on('stripe', 'invoice.*', (event) => void accounts.push(event.payload.account))
  await hooks.start()
  expect(await hooks.reconcile('stripe', optionsOf(api, { account: 'acct_1' }))).toMatchObject({
    recorded: 1,
  })
  await jobsAre(db, 'processed', 1)
  expect(accounts).toEqual(['acct_1'])
  expect(api.headers.at(-1)).toMatchObject({ 'stripe-account': 'acct_1' })
})
