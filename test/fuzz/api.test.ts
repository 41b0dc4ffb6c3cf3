import { expect, test } from 'vitest'
import type { Random } from '../chaos/random.ts'
import { ADMIN_TOKEN, type AdminApi, adminApi } from '../support/admin-api.ts'
import { deliver } from '../support/gateway.ts'
import { fuzz } from './cases.ts'
import { type JsonSchema, valueFrom } from './json-schema.ts'
import { chance, mutatedText, mutatedValue, nastyText, wellFormed } from './mutate.ts'
import { watchProcess } from './process-watch.ts'

/*
 * Requests made from the OpenAPI document of a running gateway, sent by callers of every role and
 * by strangers. No caller gets more than its role allows, and no input causes an internal error.
 */
interface Operation {
  readonly method: string
  readonly path: string
  readonly role: string
  readonly scope: string
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: JsonSchema }[]
  readonly body: JsonSchema | undefined
}

interface Caller {
  readonly name: string
  readonly token: string | null
  /** The rank of its role: the number of roles whose rights it has. */
  readonly rank: number
  readonly isBound: boolean
}

const RANKS = ['anyone', 'viewer', 'operator', 'admin']

interface OpenApiOperation {
  readonly 'x-role': string
  readonly 'x-scope': string
  readonly parameters?: Operation['parameters']
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: JsonSchema } }
  }
}

async function operationsOf({ get }: AdminApi): Promise<Operation[]> {
  const { json } = await get('/openapi.json')
  const paths = json.paths as Record<string, Record<string, OpenApiOperation>>
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      role: operation['x-role'],
      scope: operation['x-scope'],
      parameters: operation.parameters ?? [],
      body: operation.requestBody?.content['application/json'].schema,
    })),
  )
}

async function callersOf(api: AdminApi): Promise<Caller[]> {
  const made = async (fields: {
    name: string
    role: string
    tenant?: string
    bodies?: boolean
  }): Promise<Caller> => {
    const token = await api.token(fields)
    // A token that was valid before is not locked out when strangers guess.
    expect((await api.get('/events', { token })).status).toBe(200)
    return {
      name: fields.name,
      token,
      rank: RANKS.indexOf(fields.role),
      isBound: fields.tenant !== undefined,
    }
  }
  return [
    { name: 'nobody', token: null, rank: 0, isBound: false },
    { name: 'stranger', token: `hko_${'s'.repeat(43)}`, rank: 0, isBound: false },
    await made({ name: 'viewer', role: 'viewer' }),
    await made({ name: 'operator', role: 'operator', bodies: true }),
    await made({ name: 'tenant', role: 'operator', tenant: 'acme' }),
    { name: 'admin', token: ADMIN_TOKEN, rank: 3, isBound: false },
  ]
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly body: string | undefined
  readonly headers: Record<string, string>
}

function requestOf(random: Random, { method, path, parameters, body }: Operation, receipt: string): Asked {
  const inPath = (name: string): string => {
    const { schema = {} } = parameters.find((one) => one.name === name) ?? {}
    const value = chance(random, 2) ? receipt : String(valueFrom(random, schema))
    return encodeURIComponent(wellFormed(chance(random, 4) ? mutatedText(random, value) : value))
  }
  const query = new URLSearchParams()
  for (const one of parameters) {
    if (one.in !== 'query' || chance(random, 2)) continue
    const value = valueFrom(random, one.schema)
    query.append(one.name, typeof value === 'object' ? JSON.stringify(value) : wellFormed(String(value)))
  }
  if (chance(random, 20)) query.append(wellFormed(nastyText(random)), wellFormed(nastyText(random)))
  const value = body && valueFrom(random, body)
  const text = JSON.stringify(chance(random, 3) ? mutatedValue(random, value) : value)
  const sent = method === 'GET' ? undefined : chance(random, 10) ? mutatedText(random, text ?? '') : text
  return {
    method: chance(random, 30) ? random.pick(['GET', 'POST', 'DELETE', 'PUT']) : method,
    path: `${path.replace(/\{(\w+)\}/g, (_, name: string) => inPath(name))}?${query}`,
    body: sent,
    headers: chance(random, 5) ? { 'idempotency-key': `k${random.below(20)}` } : {},
  }
}

const ROWS = `select (select count(*) from hookonce.receipt) + (select count(*) from hookonce.job)
  + (select count(*) from hookonce.audit) + (select count(*) from hookonce.token)`

async function send(api: AdminApi, { token, name }: Caller, asked: Asked): Promise<number> {
  const { method, path, body, headers } = asked
  const isSent = method !== 'GET' && body !== undefined
  const response = await fetch(`${api.base}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(isSent ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
    ...(isSent ? { body: wellFormed(body) } : {}),
    signal: AbortSignal.timeout(30_000),
  })
  const said = `${name} ${method} ${path} ${body?.slice(0, 500)}`
  const type = response.headers.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return response.status
  }
  const text = await response.text()
  if (response.status === 500)
    throw new Error(`${said} was answered 500: ${api.gateway.output.stderr.slice(-1_000)}`)
  expect(text, said).not.toMatch(/^\s+at .+:\d+:\d+\)?$/m)
  if (response.status >= 400) expect(JSON.parse(text), said).toMatchObject({ status: response.status })
  return response.status
}

test('no request makes the admin API fail, and no role gets more than its own', {
  timeout: 24 * 3_600_000,
}, async () => {
  const api = await adminApi()
  expect(await deliver(api.port, 'evt_1')).toBe(202)
  const [{ id }] = (await api.get('/events')).json.data
  const operations = await operationsOf(api)
  expect(operations.length).toBeGreaterThan(40)
  const callers = await callersOf(api)
  const [nobody, stranger] = callers as [Caller, Caller]
  const watch = watchProcess(api.gateway)

  await fuzz({ name: 'api', cases: 300, atOnce: 8 }, async (random, index) => {
    const operation = random.pick(operations)
    const caller = random.pick(callers)
    const asked = requestOf(random, operation, id)
    const status = await send(api, caller, asked)
    const isOther = asked.method !== operation.method
    const isDenied =
      caller.rank < RANKS.indexOf(operation.role) || (caller.isBound && operation.scope === 'ledger')
    if (isDenied && !isOther)
      expect(status, `${caller.name} ${asked.method} ${asked.path}`).toBeGreaterThanOrEqual(400)
    if (index % 400 === 0) watch.check()
  })

  const before = await api.db.number(ROWS)
  await fuzz({ name: 'api', cases: 100, atOnce: 8 }, async (random) => {
    await send(api, chance(random, 2) ? nobody : stranger, requestOf(random, random.pick(operations), id))
  })
  expect(await api.db.number(ROWS), 'rows after requests of strangers').toBe(before)
  expect((await api.get('/events')).status).toBe(200)
  watch.check()
})
