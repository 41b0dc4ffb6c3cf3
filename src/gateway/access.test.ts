import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { type LocalAccess, requireSafeAddress } from './access.ts'
import { gate } from './api/gate.ts'

const TOKEN = 'a-token-of-24-characters'

/** Whether a request with these headers has access. Otherwise the code of the refusal. */
async function entering(
  token: string | undefined,
  headers: IncomingMessage['headers'],
  { local = 'everything' as LocalAccess, wanted = 'api' as 'api' | 'metrics', httpVersion = '1.1' } = {},
): Promise<string> {
  const ledger = (): never => {
    throw new Error('the ledger is not needed here')
  }
  const request = { headers, httpVersion, socket: { remoteAddress: '::ffff:127.0.0.1' } } as IncomingMessage
  return gate({ token, local, ledger })
    .identify(request, wanted)
    .then(
      ({ caller }) => `${caller.name} from ${caller.address}`,
      ({ code }) => code,
    )
}

test.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost'])(
  '%s is this machine: no token is needed',
  (host) => {
    expect(() => requireSafeAddress({ host, token: undefined })).not.toThrow()
  },
)

test.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '192.168.1.2',
  '::ffff:10.0.0.1',
  'example.com',
  '',
  '127.0.0.1.example.com',
])('"%s" is reachable from other machines: it is refused without a token only', (host) => {
  expect(() => requireSafeAddress({ host, token: undefined })).toThrow(/HOOKONCE_ADMIN_TOKEN.*--admin-host/)
  expect(() => requireSafeAddress({ host, token: TOKEN })).not.toThrow()
})

test('a short token is refused, and not printed', () => {
  const opening = (): unknown => requireSafeAddress({ host: '127.0.0.1', token: 'hunter2-hunter2-hunter2' })
  expect(opening).toThrow('the admin token has 23 characters, and needs at least 24')
  expect(opening).not.toThrow('hunter2')
})

test.each([undefined, '', TOKEN, 'Bearer', `Bearer ${TOKEN.slice(1)}`, `Bearer ${TOKEN}x`, `Basic ${TOKEN}`])(
  'with a token, the header "%s" has no access',
  async (authorization) => {
    const headers = { host: 'localhost', ...(authorization === undefined ? {} : { authorization }) }
    expect(await entering(TOKEN, headers)).toBe('UNAUTHENTICATED')
  },
)

test('with the token every host name has access', async () => {
  const headers = { host: 'hooks.example', authorization: `Bearer ${TOKEN}` }
  expect(await entering(TOKEN, headers)).toBe('env:HOOKONCE_ADMIN_TOKEN from 127.0.0.1')
})

test.each(['evil.example', 'evil.example:4401', 'localhost.evil.example', '10.0.0.1:4401', '', undefined])(
  'without a token, a request for "%s" is refused: a web page may have sent it',
  async (host) => {
    expect(await entering(undefined, host === undefined ? {} : { host })).toBe('FORBIDDEN')
  },
)

test.each(['127.0.0.1:4401', 'localhost', 'LOCALHOST:1', '[::1]:4401'])(
  'without a token, a request for "%s" has access',
  async (host) => {
    expect(await entering(undefined, { host })).toBe('local:loopback from 127.0.0.1')
  },
)

test.each([
  { 'x-forwarded-for': '192.0.2.1' },
  { 'x-forwarded-proto': 'https' },
  { forwarded: 'for=192.0.2.1' },
  { via: '1.1 proxy' },
  { 'x-real-ip': '192.0.2.1' },
  { 'cf-connecting-ip': '192.0.2.1' },
  { 'x-envoy-external-address': '192.0.2.1' },
])('without a token, %j shows a proxy: it is refused', async (header) => {
  expect(await entering(undefined, { host: 'localhost', ...header })).toBe('FORBIDDEN')
})

test('without a token, HTTP/1.0 is refused: nginx uses it, and adds no header', async () => {
  expect(await entering(undefined, { host: '127.0.0.1:4401' }, { httpVersion: '1.0' })).toBe('FORBIDDEN')
})

test.each([
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { origin: 'http://evil.example' },
])('without a token, a read with %j is refused: a page of another site sent it', async (header) => {
  expect(await entering(undefined, { host: 'localhost', ...header })).toBe('CROSS_SITE')
})

test.each([
  ['everything', 'api', true],
  ['everything', 'metrics', true],
  ['metrics', 'api', false],
  ['metrics', 'metrics', true],
  ['nothing', 'api', false],
  ['nothing', 'metrics', false],
] as const)('local access to %s permits a request for %s: %s', async (local, wanted, isIn) => {
  expect(await entering(undefined, { host: 'localhost' }, { local, wanted })).toBe(
    isIn ? 'local:loopback from 127.0.0.1' : 'UNAUTHENTICATED',
  )
})
