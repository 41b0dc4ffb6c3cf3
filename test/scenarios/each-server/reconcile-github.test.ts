import { expect, onTestFinished, test } from 'vitest'
import { type Event, hookonce, type ReconcileOptions } from '../../../src/index.ts'
import { github } from '../../../src/sources/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { jobsAre } from '../../support/jobs.ts'
import { manyLedgers } from '../../support/many-ledgers.ts'
import { API_KEY, githubApi, githubPayload, type RecordedApi } from '../../support/provider-api.ts'

const SECRET = 'a secret of the hook'
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

/**
 * The hook was down: `b` was sent twice without success, `c` arrived, `old` is before the window.
 */
const DELIVERIES = [
  { id: '999', guid: 'guid-old', event: 'push', age: 90_000 },
  { id: '12345678901234567890', guid: 'guid-a', event: 'issues', action: 'opened', age: 5_000 },
  { id: '1002', guid: 'guid-b', event: 'issues', action: 'closed', age: 4_000 },
  { id: '1003', guid: 'guid-c', event: 'push', age: 3_000, status: 200 },
  { id: '1004', guid: 'guid-b', event: 'issues', action: 'closed', age: 2_000, redelivery: true },
  { id: '1005', guid: 'guid-d', event: 'star', action: 'created', age: 1_000 },
]

function githubHooks(db: TestDatabase) {
  const hooks = hookonce({
    database: db.url,
    ...manyLedgers(db),
    sources: { github: github({ secret: SECRET }) },
    logger: SILENT,
    pollMs: 20,
    maxConnections: 4,
  })
  onTestFinished(() => hooks.stop({ drainMs: 0 }))
  return hooks
}

function optionsOf(api: RecordedApi, more: Partial<ReconcileOptions> = {}): ReconcileOptions {
  const since = new Date(Date.now() - 86_400_000)
  return { apiKey: API_KEY, apiUrl: api.url, hook: 'octo/app/42', since, ...more }
}

async function deliver(
  hooks: ReturnType<typeof githubHooks>,
  guid: string,
  { event = 'issues', action }: { event?: string; action?: string } = {},
): Promise<Response> {
  const body = githubPayload({ guid, ...(action === undefined ? {} : { action }) })
  const headers = {
    ...github({ secret: SECRET }).sign({ body }),
    'x-github-delivery': guid,
    'x-github-event': event,
  }
  return hooks.fetch(new Request('http://app.test/in/github', { method: 'POST', body, headers }))
}

test('deliveries that failed are recorded under their guid, and only their payloads are read', async () => {
  const db = await freshDatabase()
  const api = await githubApi(DELIVERIES)
  const runs: Event[] = []
  const hooks = githubHooks(db)
  hooks.on('github', 'issues.*', (event) => void runs.push(event), { name: 'issues' })
  hooks.on('github', 'push', (event) => void runs.push(event), { name: 'push' })
  await hooks.start()
  expect((await deliver(hooks, 'guid-c', { event: 'push' })).status).toBe(202)

  const report = await hooks.reconcile('github', optionsOf(api))
  await jobsAre(db, 'processed', 3)
  expect(report).toMatchObject({
    listed: 5,
    unwanted: 1,
    arrived: 2,
    missing: 2,
    recorded: 2,
    stopped: undefined,
  })
  expect(report.events.map(({ key, type }) => [key, type])).toEqual([
    ['guid-a', 'issues.opened'],
    ['guid-b', 'issues.closed'],
  ])
  expect(
    await db.rows('select event_key as key, event_type as type, secret from hookonce.receipt order by 1'),
  ).toEqual([
    { key: 'guid-a', type: 'issues.opened', secret: 0 },
    { key: 'guid-b', type: 'issues.closed', secret: 0 },
    { key: 'guid-c', type: 'push', secret: 1 },
  ])
  const read = api.requests.filter((request) => /deliveries\/\d/.test(request))
  expect(read).toEqual([
    'GET /repos/octo/app/hooks/42/deliveries/12345678901234567890',
    'GET /repos/octo/app/hooks/42/deliveries/1002',
  ])
  const [opened] = runs.filter(({ key }) => key === 'guid-a')
  // The bytes that GitHub sends: compact JSON.
  expect(Buffer.from(opened?.body ?? '').toString()).toBe(githubPayload({ guid: 'guid-a', action: 'opened' }))
  expect(opened?.headers).toMatchObject({ 'x-github-hook-id': '42', 'x-github-event': 'issues' })

  const redelivered = await deliver(hooks, 'guid-a', { action: 'opened' })
  expect(await redelivered.json()).toMatchObject({ status: 'duplicate' })
  expect(await hooks.reconcile('github', optionsOf(api))).toMatchObject({ missing: 0, recorded: 0 })
  expect(runs).toHaveLength(3)
})

test('a report lists an event once, however often it was sent', async () => {
  const db = await freshDatabase()
  const api = await githubApi(DELIVERIES)
  const hooks = githubHooks(db)
  hooks.on('github', '*', () => undefined)
  const report = await hooks.reconcile('github', optionsOf(api, { mode: 'report' }))
  expect(report.events.map(({ key }) => key)).toEqual(['guid-a', 'guid-b', 'guid-c', 'guid-d'])
  expect(report).toMatchObject({ missing: 4, recorded: 0 })
  expect(api.requests.filter((request) => /deliveries\/\d/.test(request))).toEqual([])
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
})

test('an event that arrives while its payload is read is recorded once', async () => {
  const db = await freshDatabase()
  const api = await githubApi(DELIVERIES.filter(({ guid }) => guid === 'guid-a'))
  const runs: string[] = []
  const hooks = githubHooks(db)
  hooks.on('github', 'issues.*', (event) => void runs.push(event.key))
  await hooks.start()
  api.fault = async ({ pathname }) => {
    if (/deliveries\/\d/.test(pathname)) await deliver(hooks, 'guid-a', { action: 'opened' })
    return undefined
  }
  const report = await hooks.reconcile('github', optionsOf(api))
  await jobsAre(db, 'processed', 1)
  await hooks.stop()
  expect(report).toMatchObject({ missing: 1, recorded: 0, events: [{ key: 'guid-a', outcome: 'arrived' }] })
  expect(runs).toEqual(['guid-a'])
  expect(await db.rows('select event_key as key, secret from hookonce.receipt')).toEqual([
    { key: 'guid-a', secret: 1 },
  ])
  // No delivery was repeated, so none is counted.
  expect(await db.number('select count(*) from hookonce.duplicate')).toBe(0)
})

test.each([
  {
    name: 'secondary',
    headers: { 'retry-after': '0' },
    body: '{"message":"You have exceeded a secondary rate limit"}',
  },
  {
    name: 'primary',
    headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Math.floor(Date.now() / 1_000)) },
    body: '{"message":"API rate limit exceeded"}',
  },
])('the $name rate limit of GitHub is waited for', async ({ headers, body }) => {
  const db = await freshDatabase()
  const api = await githubApi(DELIVERIES)
  api.fault = (_url, count) => (count === 2 ? { status: 403, headers, body } : undefined)
  const hooks = githubHooks(db)
  hooks.on('github', 'issues.*', () => undefined)
  expect(await hooks.reconcile('github', optionsOf(api))).toMatchObject({ recorded: 2, stopped: undefined })
})

test('a lasting rate limit ends the run, and a key without permission is not mistaken for one', async () => {
  const db = await freshDatabase()
  const api = await githubApi(DELIVERIES)
  const hooks = githubHooks(db)
  hooks.on('github', 'issues.*', () => undefined)
  api.fault = () => ({ status: 429, headers: { 'retry-after': '3600' } })
  const limited = await hooks.reconcile('github', optionsOf(api))
  expect(limited.stopped).toMatchObject({
    reason: 'failed',
    message: expect.stringContaining('lasts 3600 s more'),
  })
  api.fault = () => ({ status: 403, body: '{"message":"Resource not accessible by personal access token"}' })
  const refused = await hooks.reconcile('github', optionsOf(api))
  expect(refused.stopped?.message).toMatch(/PROVIDER_API_REFUSED: .*answered 403: .*not accessible/)
})

test('a payload that GitHub no longer has is reported, and the others are recorded', async () => {
  const db = await freshDatabase()
  const api = await githubApi(DELIVERIES)
  api.fault = ({ pathname }) => (pathname.endsWith('/1002') ? { status: 404, body: '{}' } : undefined)
  const hooks = githubHooks(db)
  hooks.on('github', 'issues.*', () => undefined)
  const report = await hooks.reconcile('github', optionsOf(api))
  expect(report.events.map(({ key, outcome }) => [key, outcome])).toEqual([
    ['guid-a', 'recorded'],
    ['guid-b', 'gone'],
  ])
  expect(report).toMatchObject({ missing: 2, recorded: 1, stopped: undefined })
})

test('a hook that sends forms gets its event as a form', async () => {
  const db = await freshDatabase()
  const delivery = { id: '7', guid: 'guid-f', event: 'issues', action: 'opened', age: 60, form: true }
  const api = await githubApi([delivery], '/orgs/octo/hooks/9')
  const hooks = githubHooks(db)
  hooks.on('github', 'issues.opened', () => undefined)
  expect(await hooks.reconcile('github', optionsOf(api, { hook: 'octo/9' }))).toMatchObject({ recorded: 1 })
  const [row] = await db.rows<{ body: Buffer }>('select body from hookonce.receipt')
  expect(new URLSearchParams(String(row?.body)).get('payload')).toBe(githubPayload(delivery))
})

test('an invalid hook is refused', async () => {
  const db = await freshDatabase()
  const api = await githubApi([])
  const hooks = githubHooks(db)
  hooks.on('github', '*', () => undefined)
  await expect(hooks.reconcile('github', optionsOf(api, { hook: 'octo/app' }))).rejects.toThrow(
    'owner/repo/ID',
  )
  expect(api.requests).toEqual([])
})

test('a payload whose headers name another guid is not recorded', async () => {
  const db = await freshDatabase()
  const api = await githubApi(DELIVERIES)
  const request = {
    headers: { 'X-GitHub-Delivery': 'guid-of-another', 'X-GitHub-Event': 'issues' },
    payload: { action: 'opened', issue: { id: 1 } },
  }
  api.fault = ({ pathname }) =>
    pathname.includes('/deliveries/') ? { status: 200, body: JSON.stringify({ request }) } : undefined
  const hooks = githubHooks(db)
  hooks.on('github', 'issues.*', () => undefined)
  const report = await hooks.reconcile('github', optionsOf(api))
  expect(report.stopped?.message).toContain('reads the key guid-of-another from it')
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
})
