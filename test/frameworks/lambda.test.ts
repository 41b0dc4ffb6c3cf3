import type {
  ALBEvent,
  ALBHandler,
  APIGatewayProxyEvent,
  APIGatewayProxyEventV2,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
} from 'aws-lambda'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { inline } from '../../src/inline/index.ts'
import { memoryKeys } from '../../src/keys/index.ts'
import type { LambdaEvent, LambdaHandler } from '../../src/mounts/lambda.ts'
import { custom, sign, twilio } from '../../src/sources/index.ts'
import { freshDatabase } from '../support/database.ts'
import { receiving } from '../support/receiver.ts'
import { SENDER, signed, testSource } from '../support/source.ts'

/* The events of AWS in their documented shapes. A Lambda gets no other data about a request. */

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly query?: string
  readonly headers: Record<string, string>
  readonly body?: string
  readonly isBase64Encoded?: boolean
}

const PATH = '/prod/webhooks/test'

/** HTTP APIs and function URLs have the same payload. Header names are in lower case. */
function httpApi({ method = 'POST', path = PATH, query = '', ...sent }: Sent): APIGatewayProxyEventV2 {
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: query,
    headers: sent.headers,
    requestContext: {
      accountId: '123456789012',
      apiId: 'api',
      domainName: 'id.execute-api.us-east-1.amazonaws.com',
      domainPrefix: 'id',
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.7', userAgent: 'provider' },
      requestId: 'id',
      routeKey: '$default',
      stage: 'prod',
      time: '12/Mar/2026:19:03:58 +0000',
      timeEpoch: 1_583_348_638_390,
    },
    body: sent.body ?? '',
    isBase64Encoded: sent.isBase64Encoded ?? false,
  }
}

const decoded = (query: string): [string, string][] => [...new URLSearchParams(query)]
const listed = (pairs: [string, string][]): Record<string, string[]> =>
  Object.fromEntries(pairs.map(([name, value]) => [name, [value]]))

/** REST APIs: header names as sent, the path without its stage, the query decoded. */
function restApi({ method = 'POST', path = PATH, query = '', ...sent }: Sent): APIGatewayProxyEvent {
  const withoutStage = path.replace(/^\/prod/, '')
  const capitalized = Object.entries(sent.headers).map(([name, value]): [string, string] => [
    name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()),
    value,
  ])
  return {
    resource: '/webhooks/{source}',
    path: withoutStage,
    httpMethod: method,
    headers: Object.fromEntries(capitalized),
    multiValueHeaders: listed(capitalized),
    queryStringParameters: query === '' ? null : Object.fromEntries(decoded(query)),
    multiValueQueryStringParameters: query === '' ? null : listed(decoded(query)),
    pathParameters: { source: 'test' },
    stageVariables: null,
    requestContext: {
      accountId: '123456789012',
      apiId: 'api',
      authorizer: null,
      httpMethod: method,
      identity: { sourceIp: '192.0.2.7' } as APIGatewayProxyEvent['requestContext']['identity'],
      path,
      protocol: 'HTTP/1.1',
      requestId: 'id',
      requestTimeEpoch: 1_583_348_638_390,
      resourceId: 'id',
      resourcePath: '/webhooks/{source}',
      stage: 'prod',
    },
    body: sent.body ?? null,
    isBase64Encoded: sent.isBase64Encoded ?? false,
  }
}

/** Load balancers, with and without multi-value headers. The query is unchanged. */
const loadBalancer =
  (isMultiValue: boolean) =>
  ({ method = 'POST', path = PATH, query = '', ...sent }: Sent): ALBEvent => {
    const parameters = query
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair): [string, string] => {
        const at = pair.indexOf('=')
        return [pair.slice(0, at), pair.slice(at + 1)]
      })
    return {
      requestContext: { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:…' } },
      httpMethod: method,
      path,
      ...(isMultiValue
        ? {
            multiValueHeaders: listed(Object.entries(sent.headers)),
            multiValueQueryStringParameters: listed(parameters),
          }
        : { headers: sent.headers, queryStringParameters: Object.fromEntries(parameters) }),
      body: sent.body ?? '',
      isBase64Encoded: sent.isBase64Encoded ?? false,
    }
  }

const platforms: Readonly<Record<string, (sent: Sent) => LambdaEvent>> = {
  'an HTTP API or a function URL': httpApi,
  'a REST API': restApi,
  'a load balancer': loadBalancer(false),
  'a load balancer with multi-value headers': loadBalancer(true),
}

const TEXT = '{ "id": "evt_1",  "type": "a", "name": "Ünal" }'
const EVENT = signed(TEXT)
const base64 = { body: Buffer.from(TEXT).toString('base64'), isBase64Encoded: true }

describe.each(Object.entries(platforms))('%s', (_, eventOf) => {
  test('the bytes are recorded once, as text and as base64', async () => {
    const db = await freshDatabase()
    const handler = receiving(db).hooks.lambda()
    const first = await handler(eventOf(EVENT))
    const second = await handler(eventOf({ ...EVENT, ...base64 }))
    expect([first.statusCode, second.statusCode]).toEqual([202, 200])
    expect(JSON.parse(first.body)).toMatchObject({ status: 'recorded' })
    const receipts = await db.rows<{ body: Buffer }>('select body from hookonce.receipt')
    expect(receipts.map(({ body }) => String(body))).toEqual([TEXT])
    // A receiver that never starts leaves its jobs to the workers.
    expect(await db.rows('select state from hookonce.job')).toEqual([{ state: 'received' }])
  })

  test('handshakes and refusals', async () => {
    const source = custom({
      ...SENDER,
      handshake: [
        {
          method: 'GET',
          when: { 'query:mode': 'a b' },
          signed: false,
          reply: { text: '{query:challenge}' },
        },
      ],
    })
    const receiver = inline(source, () => undefined, { store: memoryKeys() })
    const query = 'mode=a%20b&challenge=4%262'
    const event = eventOf({ method: 'GET', path: '/any', query, headers: {} })
    expect(await receiver.lambda()(event)).toMatchObject({ statusCode: 200, body: '4&2' })
    expect(await receiver.lambda()(eventOf({ headers: {}, body: '{}' }))).toMatchObject({ statusCode: 401 })
    const put = await receiver.lambda()(eventOf({ method: 'PUT', headers: {} }))
    const { headers, multiValueHeaders } = put
    expect([put.statusCode, headers?.allow ?? multiValueHeaders?.allow?.[0]]).toEqual([405, 'POST'])
    expect(multiValueHeaders !== undefined).toBe('multiValueHeaders' in event)
  })

  test('a signature over the whole URL', async () => {
    const path = '/prod/webhooks/twilio'
    const url = `https://id.execute-api.us-east-1.amazonaws.com${path}`
    const source = twilio({ secret: 'x', url })
    const handled: string[] = []
    const receiver = inline(source, (event) => handled.push(event.key), { store: memoryKeys() })
    const query = 'a=b%20c&d=e'
    const body = 'MessageSid=SM1&MessageStatus=sent'
    const sample = { body, url: `${path}?${query}` }
    const headers = { 'content-type': 'application/x-www-form-urlencoded', ...sign(source, sample) }
    const result = await receiver.lambda()(eventOf({ path, query, headers, body }))
    expect([result.statusCode, handled.length]).toEqual([200, 1])
  })
})

test('the address of the sender is known, except behind a load balancer', async () => {
  const db = await freshDatabase()
  const options = { sourceLimits: { test: { allow: ['192.0.2.7'] } } }
  const handler = receiving(db, { options }).hooks.lambda()
  const statuses: number[] = []
  for (const eventOf of Object.values(platforms)) statuses.push((await handler(eventOf(EVENT))).statusCode)
  expect(statuses).toEqual([202, 200, 403, 403])
})

test('bodies count against the limits', async () => {
  const receiver = inline(testSource(), () => undefined, { store: memoryKeys(), maxBodyBytes: 10 })
  expect(await receiver.lambda()(httpApi(EVENT))).toMatchObject({ statusCode: 413 })
})

test('the option `source` names the source, whatever the path', async () => {
  const db = await freshDatabase()
  const handler = receiving(db).hooks.lambda({ source: 'test' })
  expect(await handler(httpApi({ ...EVENT, path: '/' }))).toMatchObject({ statusCode: 202 })
})

test('an event that is not a request fails the invocation, with advice', async () => {
  const receiver = inline(testSource(), () => undefined, { store: memoryKeys() })
  const queued = { Records: [] } as LambdaEvent
  await expect(receiver.lambda()(queued)).rejects.toThrow('invoke the function through API Gateway')
})

test('the types are those of @types/aws-lambda', () => {
  expectTypeOf<LambdaHandler>().toExtend<APIGatewayProxyHandler>()
  expectTypeOf<LambdaHandler>().toExtend<APIGatewayProxyHandlerV2>()
  expectTypeOf<LambdaHandler>().toExtend<ALBHandler>()
})
