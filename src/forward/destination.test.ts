import { expect, test } from 'vitest'
import { check, type Fault } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import { destinationSchema, loadDestination } from './destination.ts'

const FORWARD_SECRET = `whsec_${Buffer.from('a secret that signs what is forwarded').toString('base64')}`
const minimal = { url: 'https://app.example/', secret: 'env:SECRET' }
const secrets: Readonly<Record<string, string>> = {
  SECRET: FORWARD_SECRET,
  SHORT: 'whsec_c2hvcnQ=',
  TOKEN: 'a-token',
  LINES: 'two\nlines',
}

/** The first fault is thrown, as text. */
async function load(destination: object) {
  const faults: string[] = []
  const report = ({ path, message }: Fault): void => void faults.push(`${path.join('.')}: ${message}`)
  const loaded = await loadDestination('app', check(destinationSchema, destination, 'test.json'), {
    file: 'test.json',
    faults: {
      report,
      secret: (reference) => secrets[reference.replace('env:', '')] ?? '',
      attempt: async (_path, make) => make(),
    },
  })
  if (faults[0] !== undefined) throw new HookonceError('CONFIG_INVALID', `test.json: ${faults[0]}`)
  return loaded
}

test('references become secrets, and the defaults are left to forwarding', async () => {
  expect(await load(minimal)).toEqual({
    ...minimal,
    name: 'app',
    types: '*',
    secret: FORWARD_SECRET,
    auth: undefined,
    transform: undefined,
  })
  const both = await load({
    ...minimal,
    secret: ['env:SECRET', 'env:SECRET'],
    auth: { type: 'header', name: 'X-Api-Key', value: 'env:TOKEN' },
    headers: ['X-Shop'],
    allowPrivate: ['App.Internal'],
  })
  expect(both).toMatchObject({
    secret: [FORWARD_SECRET, FORWARD_SECRET],
    auth: { name: 'x-api-key', value: 'a-token' },
    headers: ['x-shop'],
    allowPrivate: ['app.internal'],
  })
})

test.each([
  [{ secret: [] }, 'secret: pass one secret, or two while one is rotated'],
  [{ secret: ['env:A', 'env:B', 'env:C'] }, 'secret: pass one secret, or two while one is rotated'],
  [{ secret: ['env:SECRET', 'env:SHORT'] }, 'destinations.app.secret.1: the secret has 5 bytes'],
  [{ secret: 7 }, 'secret: pass the secret as "env:NAME" or "file:/path"'],
  [{ auth: { type: 'digest' } }, 'auth.type: expected { "type": "bearer" | "basic" | "header"'],
  [{ auth: 'env:TOKEN' }, 'auth: expected { "type": "bearer" | "basic" | "header"'],
  [{ auth: { type: 'bearer' } }, 'auth.token: pass the secret as "env:NAME"'],
  [{ auth: { type: 'bearer', token: 'env:LINES' } }, 'auth.token: the secret must be one line'],
  [{ auth: { type: 'basic', username: 'a:b', password: 'env:TOKEN' } }, 'auth.username: a user name has'],
  [{ auth: { type: 'header', name: 'host', value: 'env:TOKEN' } }, 'hookonce sets this header itself'],
  [{ auth: { type: 'header', name: 'webhook-id', value: 'env:TOKEN' } }, 'hookonce sets this header'],
  [{ orderBy: 'data.id' }, 'orderBy: expected json:<path> or header:<name>'],
  [{ orderBy: 'json:a..b' }, 'orderBy: expected json:<path> or header:<name>'],
  [{ orderBy: 7 }, 'orderBy: expected json:<path> or header:<name>'],
  [{ orderBy: 'const:x' }, 'orderBy: expected json:<path> or header:<name>'],
  [{ retry: { schedule: [1] } }, 'unknown "schedule" (did you mean "scheduleMs"?); allowed: maxAttempts'],
  [{ transform: 7 }, 'transform: must be a function, or the path of a module'],
  [{ maxConnections: 0 }, 'maxConnections'],
  [{ timeoutMs: 3_600_001 }, 'timeoutMs'],
  [{ allowPrivate: ['http://app'] }, 'allowPrivate.0: expected a host name, an address, or a range'],
  [{ rate: 5 }, 'rate: must be an object; it is 5'],
  [{ burst: 5 }, 'unknown "burst"; allowed: url, secret'],
])('%j is refused', async (wrong, says) => {
  const error = await (async () => load({ ...minimal, ...wrong }))().catch(String)
  expect(error).toContain('CONFIG_INVALID: test.json')
  expect(error).toContain(says)
  for (const secret of Object.values(secrets)) expect(error).not.toContain(secret)
})
