import type { BufferedRequest } from '../delivery/buffered.ts'
import type { Doors, Entry } from '../delivery/doors.ts'
import { HookonceError } from '../model/errors.ts'

/**
 * The part of an event of AWS Lambda that is used: of API Gateway (REST and HTTP APIs), function
 * URLs and Application Load Balancers.
 */
export interface LambdaEvent {
  readonly body?: string | null | undefined
  readonly isBase64Encoded?: boolean | undefined
  readonly headers?: Values<string> | null | undefined
  readonly requestContext?: LambdaRequestContext | undefined
  /** HTTP APIs and function URLs (payload version 2.0). */
  readonly rawPath?: string | undefined
  readonly rawQueryString?: string | undefined
  /** REST APIs (payload version 1.0) and load balancers. */
  readonly httpMethod?: string | undefined
  readonly path?: string | undefined
  readonly multiValueHeaders?: Values<readonly string[]> | null | undefined
  readonly queryStringParameters?: Values<string> | null | undefined
  readonly multiValueQueryStringParameters?: Values<readonly string[]> | null | undefined
}

type Values<Value> = Readonly<Record<string, Value | undefined>>

interface LambdaRequestContext {
  readonly http?: { readonly method: string; readonly sourceIp: string } | undefined
  readonly identity?: { readonly sourceIp: string } | undefined
  readonly elb?: object | undefined
}

export interface LambdaResult {
  readonly statusCode: number
  readonly headers?: Record<string, string>
  /** Replaces `headers` if the event has it: load balancers then ignore `headers`. */
  readonly multiValueHeaders?: Record<string, string[]>
  readonly body: string
  readonly isBase64Encoded: false
}

export type LambdaHandler = (event: LambdaEvent) => Promise<LambdaResult>

export function lambdaHandler(doors: Doors, entry: Entry): LambdaHandler {
  return async (event) => {
    const request = { ...head(event), headerPairs: headerPairs(event), body: bodyOf(event) }
    return resultOf(event, await doors.buffered(request, { ...entry, peerAddress: addressOf(event) }))
  }
}

function head(event: LambdaEvent): Pick<BufferedRequest, 'method' | 'url'> {
  const { requestContext, rawPath, rawQueryString = '', httpMethod, path } = event
  if (requestContext?.http && rawPath !== undefined)
    return { method: requestContext.http.method, url: withQuery(rawPath, rawQueryString) }
  if (httpMethod !== undefined && path !== undefined)
    return { method: httpMethod, url: withQuery(path, queryOf(event)) }
  throw new HookonceError(
    'CONFIG_INVALID',
    'hooks.lambda(): this event is no HTTP request; invoke the function through API Gateway, a function URL or an Application Load Balancer',
  )
}

function withQuery(path: string, query: string): string {
  return query === '' ? path : `${path}?${query}`
}

/** API Gateway decodes the query of payload version 1.0. Load balancers leave it unchanged. */
function queryOf(event: LambdaEvent): string {
  const { requestContext, queryStringParameters, multiValueQueryStringParameters } = event
  const encode = requestContext?.elb ? (text: string) => text : encodeURIComponent
  return valuesOf(multiValueQueryStringParameters ?? queryStringParameters)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&')
}

function headerPairs({ headers, multiValueHeaders }: LambdaEvent): string[] {
  return valuesOf(multiValueHeaders ?? headers).flat()
}

function valuesOf(values: Values<string | readonly string[]> | null | undefined): [string, string][] {
  return Object.entries(values ?? {}).flatMap(([name, value = []]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  )
}

function bodyOf({ body, isBase64Encoded }: LambdaEvent): Buffer {
  return Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8')
}

/**
 * Undefined behind a load balancer: it reports the client only in `x-forwarded-for`, which the
 * client may also write.
 */
function addressOf({ requestContext }: LambdaEvent): string | undefined {
  return requestContext?.http?.sourceIp ?? requestContext?.identity?.sourceIp
}

async function resultOf({ multiValueHeaders }: LambdaEvent, response: Response): Promise<LambdaResult> {
  const headers = [...response.headers]
  return {
    statusCode: response.status,
    ...(multiValueHeaders
      ? { multiValueHeaders: Object.fromEntries(headers.map(([name, value]) => [name, [value]])) }
      : { headers: Object.fromEntries(headers) }),
    body: await response.text(),
    isBase64Encoded: false,
  }
}
