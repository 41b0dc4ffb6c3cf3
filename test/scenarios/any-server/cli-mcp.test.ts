import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { ADMIN_TOKEN, type AdminApi, adminApi } from '../../support/admin-api.ts'
import { cli } from '../../support/cli.ts'
import { deliver } from '../../support/gateway.ts'
import { jobsAre } from '../../support/jobs.ts'
import { listening } from '../../support/listening-server.ts'
import { startMcp } from '../../support/mcp.ts'
import { until } from '../../support/until.ts'

/* An agent that reads from a gateway. test/official/mcp.test.ts uses MCP's own client. */

interface ListedTool {
  readonly annotations: { readonly readOnlyHint: boolean }
}

const fromOf = ({ adminPort }: AdminApi): string => `http://127.0.0.1:${adminPort}`

/** A gateway whose destination fails until it is fixed. Its jobs get one attempt. */
async function brokenGateway(): Promise<{ api: AdminApi; mend(): void }> {
  let status = 500
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(status).end())
  })
  const url = `${await listening(server)}/hooks`
  const app = {
    url,
    secret: 'env:FORWARD_SECRET',
    allowPrivate: ['127.0.0.1'],
    retry: { maxAttempts: 1 },
  }
  const sources = { stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' } }
  const api = await adminApi({ config: { sources, destinations: { app } } })
  return {
    api,
    mend() {
      status = 204
    },
  }
}

test('finds a failed event, explains it, plans and makes its replay, under its own name', async () => {
  const { api, mend } = await brokenGateway()
  expect(await deliver(api.port, 'evt_1')).toBe(202)
  expect(await deliver(api.port, 'evt_1')).toBe(200)
  await jobsAre(api.db, 'failed', 1)
  await until('the repeat is counted', () => api.db.number('select count(*) from hookonce.duplicate'))
  const token = await api.token({ name: 'agent', role: 'operator' })
  const mcp = startMcp(fromOf(api), token, '--allow-changes')

  const found = JSON.parse(await mcp.ask('find_events', { state: 'failed', source: 'stripe' }))
  expect(found.data).toMatchObject([{ eventKey: 'evt_1', duplicates: 1, states: ['failed'] }])
  const { id } = found.data[0]
  const explained = await mcp.ask('explain_event', { id })
  expect(explained).toContain('evt_1')
  expect(explained).toContain('was delivered 2 times, and recorded once')
  expect(explained).toMatch(/Subscriber app: failed after 1 attempts\. The last error: ".*500/)
  expect(JSON.parse(await mcp.ask('plan_replay', { source: 'stripe' }))).toMatchObject({ jobs: 1 })

  expect(await mcp.ask('find_events', { stat: 'failed', limit: 'all' })).toMatch(
    /^refused: limit: must be a .*; unknown "stat" \(did you mean "state"\?\); allowed: /,
  )
  await expect(mcp.ask('find_event')).rejects.toThrow(
    'there is no tool "find_event" (did you mean "find_events"?)',
  )

  mend()
  expect(JSON.parse(await mcp.ask('replay_event', { id, why: 'the app is mended' }))).toMatchObject({
    jobs: 1,
  })
  await jobsAre(api.db, 'processed', 1)
  expect(await mcp.ask('explain_event', { id })).toContain('Subscriber app: processed')
  const audit = await api.get('/audit')
  expect(audit.json.data).toContainEqual(
    expect.objectContaining({
      action: 'replay',
      why: 'the app is mended',
      actor: expect.stringContaining('agent'),
    }),
  )
})

test('the flag and the token decide the rights of an agent', async () => {
  const { api } = await brokenGateway()
  expect(await deliver(api.port, 'evt_1')).toBe(202)
  await jobsAre(api.db, 'failed', 1)
  const [{ id } = { id: '' }] = await api.db.rows<{ id: string }>('select id from hookonce.receipt')

  const reader = startMcp(fromOf(api), ADMIN_TOKEN)
  const { result } = (await reader.request('tools/list', {})) as { result?: { tools?: ListedTool[] } }
  expect(result?.tools?.length).toBeGreaterThan(10)
  expect(result?.tools?.filter(({ annotations }) => !annotations.readOnlyHint)).toEqual([])
  await expect(reader.ask('replay_event', { id, why: 'try' })).rejects.toThrow('--allow-changes')
  await expect(reader.ask('no_such_tool')).rejects.toThrow('there is no tool "no_such_tool"')

  const viewer = startMcp(fromOf(api), await api.token({ name: 'viewer', role: 'viewer' }), '--allow-changes')
  expect(await viewer.ask('explain_event', { id })).toContain('evt_1')
  expect(await viewer.ask('read_event_body', { id })).toMatch(/^refused: 403 /)
  expect(await viewer.ask('replay_event', { id, why: 'try' })).toMatch(/^refused: 403 /)
  expect(await viewer.ask('find_events', { sorce: 'stripe' })).toMatch(/^refused: .*sorce/)
  const stranger = startMcp(fromOf(api), 'no-such-token')
  expect(await stranger.ask('gateway_status')).toMatch(/^refused: 401 .*--token/)

  expect(await api.db.number(`select count(*) from hookonce.job where state = 'failed'`)).toBe(1)
  expect(await api.db.number(`select count(*) from hookonce.audit where action <> 'create-token'`)).toBe(0)
})

test('an unreachable gateway is a result; the end of the input ends the server', async () => {
  const mcp = startMcp('http://127.0.0.1:9', 'any')

  expect(await mcp.ask('gateway_status')).toMatch(/^refused: the gateway does not answer/)
  mcp.end()
  expect(await mcp.closed).toEqual([0, null])
})

test.each([
  [['--from', 'ftp://x'], '--from must be a URL of http or https'],
  [['--token', 'plain'], '--token'],
  [['--allow-change'], 'did you mean "--allow-changes"?'],
])('%s is refused in one clear message', async (args, message) => {
  const { code, stderr } = await cli(['mcp', ...args])
  expect(code).toBe(1)
  expect(stderr).toContain(message)
})
