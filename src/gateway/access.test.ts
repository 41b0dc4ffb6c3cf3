import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { adminAccess } from './access.ts'

const TOKEN = 'a-token-of-24-characters'

function asked(headers: IncomingMessage['headers']): IncomingMessage {
  return { headers } as IncomingMessage
}

test.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost'])(
  '%s is this machine: no token is needed',
  (host) => {
    expect(adminAccess({ host, token: undefined })(asked({ host: `localhost:4401` }))).toBeUndefined()
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
])('"%s" may be reached by others: without a token it is refused, with one it is not', (host) => {
  expect(() => adminAccess({ host, token: undefined })).toThrow(/HOOKONCE_ADMIN_TOKEN.*--admin-host/)
  expect(() => adminAccess({ host, token: TOKEN })).not.toThrow()
})

test('a short token is refused, without being printed', () => {
  const opening = (): unknown => adminAccess({ host: '127.0.0.1', token: 'hunter2-hunter2-hunter2' })
  expect(opening).toThrow('the admin token has 23 characters, and needs at least 24')
  expect(opening).not.toThrow('hunter2')
})

test.each([
  undefined,
  '',
  TOKEN,
  'Bearer',
  `Bearer ${TOKEN.slice(1)}`,
  `Bearer ${TOKEN}x`,
  `bearer ${TOKEN}`,
  `Basic ${TOKEN}`,
])('with a token, the header "%s" is not let in', (authorization) => {
  const access = adminAccess({ host: '127.0.0.1', token: TOKEN })
  expect(
    access(asked({ host: 'localhost', ...(authorization === undefined ? {} : { authorization }) })),
  ).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': expect.stringContaining('Bearer') },
  })
})

test('with the token every name is let in', () => {
  const access = adminAccess({ host: '0.0.0.0', token: TOKEN })
  expect(access(asked({ host: 'hooks.example', authorization: `Bearer ${TOKEN}` }))).toBeUndefined()
})

test.each(['evil.example', 'evil.example:4401', 'localhost.evil.example', '10.0.0.1:4401', '', undefined])(
  'without a token, a request for "%s" is refused: a web page may have sent it',
  (host) => {
    const access = adminAccess({ host: '127.0.0.1', token: undefined })
    expect(access(asked(host === undefined ? {} : { host }))).toMatchObject({ status: 403 })
  },
)

test.each(['127.0.0.1:4401', 'localhost', 'LOCALHOST:1', '[::1]:4401'])(
  'without a token, a request for "%s" is let in',
  (host) => {
    expect(adminAccess({ host: '127.0.0.1', token: undefined })(asked({ host }))).toBeUndefined()
  },
)
