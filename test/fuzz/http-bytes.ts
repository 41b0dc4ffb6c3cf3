import { stripe } from '../../src/sources/index.ts'
import type { Random } from '../chaos/random.ts'
import { SECRET } from '../support/gateway.ts'
import { chance, mutatedBytes, mutatedText, nastyText } from './mutate.ts'

/*
 * Mutated deliveries as raw bytes: requests with contradictory lengths, floods of headers, broken
 * chunks, several requests in one write. Nothing in them is signed with the secret of the source,
 * except a delivery that is hidden inside the body of another request.
 */
export interface Bytes {
  readonly what: string
  readonly bytes: Buffer
  /** The positions at which the bytes are split into writes. */
  readonly cuts: readonly number[]
}

const ODD_TARGETS = [
  '/in/stripe?x=%00',
  '/in/none',
  '/in/acme/stripe',
  '/in/',
  '/in/stripe/',
  '//in/stripe',
  '/in/../in/stripe',
  '/in/%73tripe',
  'http://other.example/in/stripe',
  '*',
  '/',
  '/metrics',
  '/api/v1/events',
]
/** Targets of the admin listener, which all need a token. */
const ADMIN_TARGETS = [
  '/api/v1/events',
  '/api/v1/events?limit=1',
  '/api/v1/failures',
  '/api/v1/tokens',
  '/api/v1/openapi.json',
  '/api/v1/events/stream',
  '/api/v1/none',
  '/metrics',
  '/metrics?x=%00',
  '//api/v1/events',
  '/api/v1/../v1/events',
  '/api/v1/%65vents',
  'http://other.example/api/v1/events',
]
const PUBLIC_TARGETS = ['/', '/healthz', '/readyz', '/events', '/assets/none.js', '*']
const ODD_METHODS = ['GET', 'HEAD', 'PUT', 'OPTIONS', 'CONNECT', 'TRACE', 'post', 'PRI', 'X'.repeat(40)]
const ODD_VERSIONS = ['HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'HTTP/1.2', 'http/1.1', '']
const EVENT = JSON.stringify({ id: 'evt_forged', type: 'invoice.paid' })
const WRONG = stripe({ secret: 'whsec_of_a_stranger' })

function signatureOf(random: Random, body: string): string {
  const header = WRONG.sign({ body })['stripe-signature'] ?? ''
  return chance(random, 3) ? mutatedText(random, header).replaceAll(/[\r\n\0]/g, '') : header
}

/**
 * How a body is delimited.
 * - `exact`: the listener must read all of it as the body.
 * - `ambiguous`: the lengths contradict each other, so the listener must refuse the request and
 *   close the connection.
 * - `open`: it may end before or after the next bytes.
 */
type BodyEnd = 'exact' | 'ambiguous' | 'open'
type FramedBody = readonly [headers: readonly string[], body: Buffer, end: BodyEnd]

function chunked(random: Random, body: string): Buffer {
  const size = Buffer.byteLength(body)
  const extension = chance(random, 4) ? `;${'x'.repeat(random.below(300))}=1` : ''
  const trailer = chance(random, 4) ? `x-trailer: ${'t'.repeat(random.below(200))}\r\n` : ''
  const line = random.pick([
    size.toString(16),
    size.toString(16),
    size.toString(16),
    `0${size.toString(16)}`,
    `${'0'.repeat(200)}${size.toString(16)}`,
    'ffffffffffffffffff',
    `-${size.toString(16)}`,
    `0x${size.toString(16)}`,
    'g',
    '',
    (size + 5).toString(16),
    Math.max(0, size - 5).toString(16),
  ])
  const end = random.pick(['\r\n', '\r\n', '\r\n', '\n', '', '\r'])
  return Buffer.from(`${line}${extension}${end}${body}\r\n0\r\n${trailer}\r\n`)
}

function framing(random: Random, body: string): FramedBody {
  const bytes = Buffer.from(body)
  const length = bytes.length
  const exact = (...more: string[]): FramedBody => [[...more, `Content-Length: ${length}`], bytes, 'exact']
  return random.pick<() => FramedBody>([
    () => exact(),
    () => exact(),
    () => [['Transfer-Encoding: chunked'], chunked(random, body), 'open'],
    () => [['Transfer-Encoding: chunked'], chunked(random, body), 'open'],
    () => [[`Content-Length: ${length}`, 'Transfer-Encoding: chunked'], chunked(random, body), 'ambiguous'],
    () => [['Transfer-Encoding: chunked', `Content-Length: ${length}`], bytes, 'ambiguous'],
    () => [[`Content-Length: ${length}`, `Content-Length: ${length + 1}`], bytes, 'ambiguous'],
    () => [[`Content-Length: ${length}, ${length + 3}`], bytes, 'ambiguous'],
    () => [['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], chunked(random, body), 'ambiguous'],
    () => [['Transfer-Encoding: xchunked'], chunked(random, body), 'ambiguous'],
    () => [['Transfer-Encoding: chunked, identity'], chunked(random, body), 'ambiguous'],
    () => [['Transfer-Encoding : chunked'], chunked(random, body), 'ambiguous'],
    () => [['Transfer-Encoding:\tchunked', 'Content-Length: 0'], chunked(random, body), 'ambiguous'],
    () => [
      [`Content-Length: ${random.pick(['-1', '+5', '0x10', '1e3', '5 5', '', '9'.repeat(30)])}`],
      bytes,
      'ambiguous',
    ],
    () => [[`Content-Length: ${length + 1 + random.below(100)}`], bytes, 'open'],
    () => [[`Content-Length: ${6 * 1024 * 1024 + random.below(1_000)}`], bytes, 'open'],
    () => [[], bytes, 'open'],
    () => exact('Expect: 100-continue'),
    () => exact('Content-Encoding: gzip'),
    () => exact('Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings'),
  ])()
}

function moreHeaders(random: Random): string[] {
  return random.pick<() => string[]>([
    () => [],
    () => [],
    () => [],
    () => [`X-Long: ${'a'.repeat(random.below(40_000))}`],
    () => Array.from({ length: random.below(3_000) }, (_, at) => `X-${at}: ${at}`),
    () => [`X-Odd: ${nastyText(random)}`],
    () => [`${nastyText(random)}: odd`],
    () => [' folded: line', '\tx'],
    () => ['Host: other.example', 'Host: third.example'],
    () => ['Connection: close', 'Connection: keep-alive'],
    () => ['Cookie: '.padEnd(9_000, 'c=1; ')],
    () => ['Content-Type: application/json; charset=utf-16'],
    () => ['X-Forwarded-For: 127.0.0.1', 'Forwarded: for=127.0.0.1'],
  ])()
}

/** A genuine delivery, which must count as the text of another request and never as a request. */
function hiddenDelivery(id: string): string {
  const body = JSON.stringify({ id, type: 'invoice.paid' })
  const signature = stripe({ secret: SECRET }).sign({ body })['stripe-signature']
  return `POST /in/stripe HTTP/1.1\r\nHost: a\r\nStripe-Signature: ${signature}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

export type ListenerName = 'delivery' | 'admin'

/** Mostly a valid request line, so that the oddities behind it are reached. */
function requestLine(random: Random, listener: ListenerName): string {
  const mostly = (usual: string, odd: readonly string[]): string =>
    chance(random, 8) ? random.pick(odd) : usual
  if (listener === 'admin') {
    const method = mostly(random.pick(['GET', 'GET', 'POST', 'DELETE']), ODD_METHODS)
    return `${method} ${mostly(random.pick(ADMIN_TARGETS), PUBLIC_TARGETS)} ${mostly('HTTP/1.1', ODD_VERSIONS)}`
  }
  return `${mostly('POST', ODD_METHODS)} ${mostly('/in/stripe', ODD_TARGETS)} ${mostly('HTTP/1.1', ODD_VERSIONS)}`
}

/** Tokens that nobody was given. */
function credentials(random: Random): string[] {
  const token = random.pick([
    '',
    'hko_',
    `hko_${'s'.repeat(43)}`,
    nastyText(random).replaceAll(/[\r\n\0]/g, ''),
  ])
  return random.pick<readonly string[]>([
    [],
    [`Authorization: Bearer ${token}`],
    [`Authorization: Basic ${Buffer.from(`admin:${token}`).toString('base64')}`],
    [`Cookie: hookonce_session=${token}`],
    ['Authorization: Bearer a', 'Authorization: Bearer b'],
    ['Origin: http://other.example', 'Sec-Fetch-Site: cross-site'],
  ]) as string[]
}

/** A well-formed request without a body, so that access is decided and not only the syntax. */
function plainRequest(random: Random): Buffer {
  const head = [requestLine(random, 'admin'), 'Host: 127.0.0.1', ...credentials(random)]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n`)
}

interface RequestTerms {
  readonly index: number
  readonly listener: ListenerName
  /** Whether a delivery may be hidden in the body. */
  readonly mayHide: boolean
}

function oneRequest(random: Random, { index, listener, mayHide }: RequestTerms): readonly [Buffer, BodyEnd] {
  if (listener === 'admin' && chance(random, 2)) return [plainRequest(random), 'exact']
  const usual = (): string => (chance(random, 2) ? EVENT : nastyText(random))
  const isHiding = mayHide && chance(random, 4)
  const hiding = framing(random, isHiding ? hiddenDelivery(`smuggled_${index}`) : usual())
  // Behind an open end, the hidden delivery would be a request of its own.
  const [lengths, bytes, kind] = isHiding && hiding[2] === 'open' ? framing(random, usual()) : hiding
  const head = [
    requestLine(random, listener),
    ...(chance(random, 10) ? [] : ['Host: 127.0.0.1']),
    ...(listener === 'admin'
      ? credentials(random)
      : [`Stripe-Signature: ${signatureOf(random, bytes.toString())}`]),
    ...moreHeaders(random),
    ...lengths,
  ]
  const end = chance(random, 30) ? '\n' : '\r\n'
  return [Buffer.concat([Buffer.from(`${head.join(end)}${end}${end}`), bytes]), kind]
}

export function socketBytes(random: Random, index: number, listener: ListenerName): Bytes {
  const requests: Buffer[] = []
  let mayHide = true
  for (let left = chance(random, 3) ? 1 + random.below(6) : 1; left > 0; left -= 1) {
    const [request, kind] = oneRequest(random, { index, listener, mayHide })
    requests.push(request)
    // The listener may read any later bytes as the next request.
    mayHide &&= kind !== 'open'
  }
  const whole = Buffer.concat(requests)
  // A genuine delivery must not be at the beginning of a line by chance.
  const isChanged = chance(random, 5) && !whole.includes('smuggled_')
  const bytes = isChanged ? mutatedBytes(random, whole) : whole
  const cuts = Array.from({ length: chance(random, 2) ? random.below(12) : 0 }, () =>
    random.below(bytes.length + 1),
  )
  return {
    what: bytes.toString('latin1').slice(0, 1_500),
    bytes,
    cuts: cuts.sort((a, b) => a - b),
  }
}
