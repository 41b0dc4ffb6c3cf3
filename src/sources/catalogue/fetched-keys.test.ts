import { createHash, createSign, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type KeyAnswer,
  type KeyRequest,
  type KeyServer,
  keyServer,
} from '../../../test/support/signing-key-server.ts'
import type { Delivery, Source } from '../contract.ts'
import { checkDescription, type ProviderDescription } from '../description.ts'
import { circle, ebay, fal, fusionauth, mailchannels, neonAuth, plaid } from '../index.ts'
import { checkOptions } from '../options.ts'
import { compile } from '../schemes/compile.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import type { FetchText } from '../schemes/fetch-text.ts'
import { circleCode } from './circle.ts'
import { ebayCode } from './ebay.ts'
import { falCode } from './fal.ts'
import { fusionauthCode } from './fusionauth.ts'
import { mailchannelsCode } from './mailchannels.ts'
import { neonAuthCode } from './neon-auth.ts'
import { plaidCode } from './plaid.ts'

/*
 * Providers whose keys are fetched. Local key pairs and a real server replace them. PayPal and
 * Amazon use certificates and have their own tests.
 */

const NOW_MS = 1_700_000_000_000

type Headers = Record<string, string>

/** Signs like the provider, with a key whose public half the server publishes under this id. */
interface SignInput {
  readonly key: KeyObject
  readonly id: string
  readonly body: Buffer
  readonly atMs: number
}

interface Played {
  readonly description: ProviderDescription
  readonly code: (fetcher: FetchText) => MakeScheme
  readonly secret?: string
  readonly settings: Record<string, string>
  readonly payload: unknown
  readonly makeKey: () => { publicKey: KeyObject; privateKey: KeyObject }
  sign(input: SignInput): Headers
  answer(keys: ReadonlyMap<string, KeyObject>, request: KeyRequest): KeyAnswer
  /** The only addresses that may be fetched. */
  readonly addresses: RegExp
  readonly key: string | RegExp
}

/** Circle names its keys by UUID. */
const uuidOf = (id: string): string =>
  `00000000-0000-4000-8000-${Buffer.from(id).toString('hex').padStart(12, '0').slice(-12)}`

const ed25519 = () => generateKeyPairSync('ed25519')
const p256 = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const b64url = (value: string | object): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const sha256 = (body: Buffer, encoding: 'hex' | 'base64'): string =>
  createHash('sha256').update(body).digest(encoding)

function jws(algorithm: 'ES256' | 'EdDSA', { key, id }: SignInput, claims: object): string {
  const signed = `${b64url({ alg: algorithm, typ: 'JWT', kid: id })}.${b64url(claims)}`
  const hash = algorithm === 'EdDSA' ? null : 'sha256'
  const proof = sign(hash, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${proof.toString('base64url')}`
}

function jwks(keys: ReadonlyMap<string, KeyObject>): string {
  const listed = [...keys].map(([kid, key]) => ({ ...key.export({ format: 'jwk' }), kid, use: 'sig' }))
  return JSON.stringify({ keys: [{ kty: 'strange' }, ...listed] })
}

const pem = (key: KeyObject): string => key.export({ format: 'pem', type: 'spki' }).toString()

const played: Played[] = [
  {
    description: plaid.description,
    code: plaidCode,
    secret: 'api-secret',
    settings: { clientId: 'client', environment: 'sandbox' },
    payload: { webhook_type: 'TRANSACTIONS', webhook_code: 'SYNC_UPDATES_AVAILABLE', item_id: 'item_1' },
    makeKey: p256,
    sign: (signing) => ({
      'plaid-verification': jws('ES256', signing, {
        iat: Math.floor(signing.atMs / 1000),
        request_body_sha256: sha256(signing.body, 'hex'),
      }),
    }),
    answer(keys, { method, path, body }) {
      const { client_id, secret, key_id } = JSON.parse(body)
      const key = keys.get(key_id)
      const isAllowed = method === 'POST' && client_id === 'client' && secret === 'api-secret'
      if (path !== '/webhook_verification_key/get' || !isAllowed || key === undefined) return { status: 400 }
      return JSON.stringify({ key: { ...key.export({ format: 'jwk' }), kid: key_id, expired_at: null } })
    },
    addresses: /^https:\/\/sandbox\.plaid\.com\/webhook_verification_key\/get$/,
    key: /^[0-9a-f]{64}$/,
  },
  {
    description: ebay.description,
    code: ebayCode,
    secret: 'cert-id',
    settings: { clientId: 'app-id', environment: 'production', verificationToken: 'v'.repeat(32) },
    payload: {
      metadata: { topic: 'MARKETPLACE_ACCOUNT_DELETION' },
      notification: { notificationId: 'n-1', eventDate: '2023-11-14T22:13:20.000Z', data: { userId: 'u-1' } },
    },
    makeKey: p256,
    sign: ({ key, id, body }) => ({
      'x-ebay-signature': Buffer.from(
        JSON.stringify({
          alg: 'ecdsa',
          kid: id,
          signature: createSign('sha1').update(body).sign(key, 'base64'),
          digest: 'SHA1',
        }),
      ).toString('base64'),
    }),
    answer(keys, { path, authorization, body }) {
      if (path === '/identity/v1/oauth2/token') {
        const isAllowed = authorization === `Basic ${Buffer.from('app-id:cert-id').toString('base64')}`
        const isWhole = new URLSearchParams(body).get('grant_type') === 'client_credentials'
        return isAllowed && isWhole ? '{"access_token":"granted"}' : { status: 401 }
      }
      const key = keys.get(path.replace('/commerce/notification/v1/public_key/', ''))
      if (key === undefined || authorization !== 'Bearer granted') return { status: 404 }
      return JSON.stringify({ key: pem(key).replaceAll('\n', ''), algorithm: 'ECDSA', digest: 'SHA1' })
    },
    addresses: /^https:\/\/api\.ebay\.com\/(identity|commerce\/notification)\//,
    key: 'n-1',
  },
  {
    description: circle.description,
    code: circleCode,
    secret: 'api-key',
    settings: { product: 'cpn' },
    payload: {
      notificationId: 'n-1',
      notificationType: 'cpn.payment.completed',
      notification: { id: 'p-1', status: 'completed' },
      timestamp: '2023-11-14T22:13:20.000000Z',
    },
    makeKey: p256,
    sign: ({ key, id, body }) => ({
      'x-circle-key-id': uuidOf(id),
      'x-circle-signature': createSign('sha256').update(body).sign(key, 'base64'),
    }),
    answer(keys, { path, authorization }) {
      const name = path.replace('/v2/cpn/notifications/publicKey/', '')
      const key = [...keys].find(([id]) => uuidOf(id) === name)?.[1]
      if (key === undefined || authorization !== 'Bearer api-key') return { status: 404 }
      const publicKey = key.export({ format: 'der', type: 'spki' }).toString('base64')
      return JSON.stringify({ data: { id: name, algorithm: 'ECDSA_SHA_256', publicKey } })
    },
    addresses: /^https:\/\/api\.circle\.com\/v2\/cpn\/notifications\/publicKey\/[0-9a-f-]{36}$/,
    key: 'n-1',
  },
  {
    description: fusionauth.description,
    code: fusionauthCode,
    settings: { url: 'https://auth.example.com/' },
    payload: {
      event: { id: 'e-1', type: 'user.create', createInstant: NOW_MS, user: { id: 'u-1' } },
    },
    makeKey: ed25519,
    sign: (signing) => ({
      'x-fusionauth-signature-jwt': jws('EdDSA', signing, {
        request_body_sha256: sha256(signing.body, 'base64'),
      }),
    }),
    answer: (keys, { path }) => (path === '/.well-known/jwks.json' ? jwks(keys) : { status: 404 }),
    addresses: /^https:\/\/auth\.example\.com\/\.well-known\/jwks\.json$/,
    key: 'e-1',
  },
  {
    description: fal.description,
    code: falCode,
    settings: { userId: 'user-1' },
    payload: { request_id: 'r-1', status: 'OK', payload: {} },
    makeKey: ed25519,
    sign({ key, body, atMs }) {
      const time = String(Math.floor(atMs / 1000))
      const signed = `r-1\nuser-1\n${time}\n${sha256(body, 'hex')}`
      return {
        'x-fal-webhook-request-id': 'r-1',
        'x-fal-webhook-user-id': 'user-1',
        'x-fal-webhook-timestamp': time,
        'x-fal-webhook-signature': sign(null, Buffer.from(signed), key).toString('hex'),
      }
    },
    answer: (keys, { path }) => (path === '/.well-known/jwks.json' ? jwks(keys) : { status: 404 }),
    addresses: /^https:\/\/rest\.alpha\.fal\.ai\/\.well-known\/jwks\.json$/,
    key: 'r-1',
  },
  {
    description: neonAuth.description,
    code: neonAuthCode,
    settings: { authUrl: 'https://ep-x.neonauth.example/neondb/auth' },
    payload: { user: { id: 'u-1' } },
    makeKey: ed25519,
    sign({ key, id, body, atMs }) {
      const head = b64url({ alg: 'EdDSA', kid: id })
      const signed = `${head}.${b64url(`${atMs}.${body.toString('base64url')}`)}`
      return {
        'x-neon-signature': `${head}..${sign(null, Buffer.from(signed), key).toString('base64url')}`,
        'x-neon-signature-kid': id,
        'x-neon-timestamp': String(atMs),
        'x-neon-event-id': 'e-1',
        'x-neon-event-type': 'user.created',
      }
    },
    answer: (keys, { path }) =>
      path === '/neondb/auth/.well-known/jwks.json' ? jwks(keys) : { status: 404 },
    addresses: /^https:\/\/ep-x\.neonauth\.example\/neondb\/auth\/\.well-known\/jwks\.json$/,
    key: 'e-1',
  },
  {
    description: mailchannels.description,
    code: mailchannelsCode,
    settings: {},
    payload: [{ event: 'delivered', smtp_id: 's-1', timestamp: NOW_MS / 1000 }],
    makeKey: ed25519,
    sign({ key, id, body, atMs }) {
      const digest = `sha-256=:${sha256(body, 'base64')}:`
      const parameters = `("content-digest");created=${Math.floor(atMs / 1000)};alg="ed25519";keyid="${id}"`
      const signed = `"content-digest": ${digest}\n"@signature-params": ${parameters}`
      return {
        'content-digest': digest,
        'signature-input': `sig_1=${parameters}`,
        signature: `sig_1=:${sign(null, Buffer.from(signed), key).toString('base64')}:`,
      }
    },
    answer(keys, { path }) {
      const key = keys.get(/^\/tx\/v1\/webhook\/public-key\?id=([\w-]+)$/.exec(path)?.[1] ?? '')
      return key === undefined ? { status: 404 } : JSON.stringify({ key: pem(key) })
    },
    addresses: /^https:\/\/api\.mailchannels\.net\/tx\/v1\/webhook\/public-key\?id=[\w-]+$/,
    key: /^[0-9a-f]{64}$/,
  },
]

interface World {
  readonly source: Source
  readonly server: KeyServer
  readonly keys: Map<string, KeyObject>
  readonly signing: SignInput
  /** The answer of a failing server. Undefined while the server works. */
  trouble: KeyAnswer | undefined
}

async function world(one: Played): Promise<World> {
  const { publicKey, privateKey } = one.makeKey()
  const keys = new Map([['key-1', publicKey]])
  const state: { trouble: KeyAnswer | undefined } = { trouble: undefined }
  const server = await keyServer((request) => state.trouble ?? one.answer(keys, request))
  onTestFinished(() => server.stop())
  const description = checkDescription(one.description)
  const options = checkOptions(
    { secret: one.secret, settings: one.settings, url: 'https://example.com/in' },
    description.provider,
  )
  const code = one.code(async (url, request) => (await server.fetching(url, request)).toString('utf8'))
  const body = Buffer.from(JSON.stringify(one.payload))
  const signing: SignInput = { key: privateKey, id: 'key-1', body, atMs: NOW_MS }
  return Object.assign(state, { source: compile(description, options, code), server, keys, signing })
}

function arriving(headers: Headers, body: Uint8Array, receivedAtMs = NOW_MS): Delivery {
  return { method: 'POST', url: '/in', header: (name) => headers[name], body, receivedAtMs }
}

async function verified({ source }: World, delivery: Delivery) {
  return (await source.prepare?.(delivery)) ?? source.verify(delivery)
}

describe.each(played.map((one) => ({ id: one.description.provider, one })))('$id', ({ one }) => {
  it('verifies a good delivery, and fetches its key once, from the genuine host only', async () => {
    const here = await world(one)
    const delivery = arriving(one.sign(here.signing), here.signing.body)
    const results = await Promise.all([verified(here, delivery), verified(here, delivery)])
    for (const result of results) expect(result).toEqual({ ok: true, secret: 1 })
    const asked = here.server.asked.length
    expect(await verified(here, delivery)).toEqual({ ok: true, secret: 1 })
    expect(here.server.asked).toHaveLength(asked)
    for (const address of here.server.asked) expect(address).toMatch(one.addresses)

    const [event = delivery] = [here.source.split?.(delivery) ?? delivery].flat() as Delivery[]
    const identified = here.source.identify(event)
    expect(identified).toMatchObject({ ok: true, key: expect.stringMatching(one.key) })
    expect(here.source.identify(event)).toEqual(here.source.identify({ ...event, url: '/' }))
  })

  it('rejects a signature of another key, under a known and an unknown key id', async () => {
    const here = await world(one)
    const { privateKey } = one.makeKey()
    for (const id of ['key-1', 'key-2']) {
      const headers = one.sign({ ...here.signing, key: privateKey, id })
      const refusal = await verified(here, arriving(headers, here.signing.body))
      expect(refusal).toMatchObject({
        ok: false,
        code: expect.stringMatching(/SIGNATURE_MISMATCH|KEYS_UNAVAILABLE/),
      })
      if (id === 'key-1') expect(refusal).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    }
  })

  it('rejects a body with one bit flipped, cut off, or serialised again', async () => {
    const here = await world(one)
    const headers = one.sign(here.signing)
    const { body } = here.signing
    expect(await verified(here, arriving(headers, body))).toMatchObject({ ok: true })
    const again = Buffer.from(JSON.stringify(one.payload, null, 1))
    for (const other of [again, body.subarray(1), Buffer.alloc(0), Buffer.concat([body, Buffer.from('\n')])])
      expect(await verified(here, arriving(headers, other))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    for (let bit = 0; bit < body.length * 8; bit += 7) {
      const flipped = Buffer.from(body)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(await verified(here, arriving(headers, flipped))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    }
  })

  it('rejects a delivery without a signature header, and fetches nothing', async () => {
    const here = await world(one)
    const headers = one.sign(here.signing)
    for (const name of Object.keys(headers).filter((name) => !/event-/.test(name))) {
      const { [name]: _, ...others } = headers
      expect(await verified(here, arriving(others, here.signing.body))).toMatchObject({
        code: 'SIGNATURE_MISSING',
      })
    }
    expect(here.server.asked).toEqual([])
  })

  const { signature } = checkDescription(one.description)
  if (signature.algorithm === 'coded' && signature.dated)
    it('rejects a signature that is too old or from the future', async () => {
      const here = await world(one)
      const headers = one.sign(here.signing)
      const at = (ms: number) => verified(here, arriving(headers, here.signing.body, NOW_MS + ms))
      expect(await at(299_000)).toMatchObject({ ok: true })
      expect(await at(302_000)).toMatchObject({ code: 'TIMESTAMP_TOO_OLD' })
      expect(await at(-302_000)).toMatchObject({ code: 'TIMESTAMP_IN_FUTURE' })
    })

  it('rejects deliveries while its keys cannot be fetched, and recovers', async () => {
    const here = await world(one)
    const headers = one.sign(here.signing)
    const atMs = (ms: number) => verified(here, arriving(headers, here.signing.body, NOW_MS + ms))
    for (const [index, trouble] of [{ status: 500 }, 'nonsense', '{}', '{"keys":[]}'].entries()) {
      here.trouble = trouble
      expect(await atMs(index * 6_000)).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    }
    here.trouble = undefined
    expect(await atMs(30_000)).toMatchObject({ ok: true })
    await here.server.stop()
    expect(await atMs(31_000)).toMatchObject({ ok: true })
    // After a day known keys are fetched again. The server does not answer, so no delivery is
    // accepted.
    const later = NOW_MS + 25 * 3_600_000
    const fresh = one.sign({ ...here.signing, atMs: later })
    expect(await verified(here, arriving(fresh, here.signing.body, later))).toMatchObject({
      code: 'KEYS_UNAVAILABLE',
    })
  })

  it('accepts a new key of the provider', async () => {
    const here = await world(one)
    expect(await verified(here, arriving(one.sign(here.signing), here.signing.body))).toMatchObject({
      ok: true,
    })
    const { publicKey, privateKey } = one.makeKey()
    here.keys.set('key-2', publicKey)
    const later = NOW_MS + 61_000
    const headers = one.sign({ ...here.signing, key: privateKey, id: 'key-2', atMs: later })
    expect(await verified(here, arriving(headers, here.signing.body, later))).toMatchObject({ ok: true })
  })

  it('limits its fetches, for any key ids of strangers', async () => {
    const here = await world(one)
    const { privateKey } = one.makeKey()
    for (let number = 0; number < 40; number++) {
      const headers = one.sign({ ...here.signing, key: privateKey, id: `stranger-${number}` })
      expect((await verified(here, arriving(headers, here.signing.body))).ok).toBe(false)
    }
    expect(here.server.requests.length).toBeLessThanOrEqual(24)
  })

  it('never throws on random headers and bodies, and accepts none', async () => {
    const here = await world(one)
    const good = one.sign(here.signing)
    expect(await verified(here, arriving(good, here.signing.body))).toMatchObject({ ok: true })
    const values = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...Object.values(good)),
      fc.json().map(b64url),
      fc.tuple(fc.json(), fc.json(), fc.string()).map((parts) => parts.map(b64url).join('.')),
    )
    const names = Object.keys(good)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(values, { nil: undefined }), { minLength: names.length, maxLength: names.length }),
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((json) => Buffer.from(json)),
        ),
        async (random, body) => {
          const headers = Object.fromEntries(names.map((name, at) => [name, random[at]])) as Headers
          const delivery = arriving(headers, body)
          const result = await verified(here, delivery)
          expect(result).toMatchObject({ ok: false, detail: expect.stringMatching(/./) })
          here.source.handshake?.(delivery)
          here.source.split?.(delivery)
          here.source.identify(delivery)
        },
      ),
      { numRuns: 100 },
    )
  })
})

describe('further requirements of each provider', () => {
  const find = (id: string): Played => {
    const one = played.find(({ description }) => description.provider === id)
    if (one === undefined) throw new Error(id)
    return one
  }

  it('plaid: a token of another algorithm, an expired key and an invalid key id are rejected', async () => {
    const one = find('plaid')
    const here = await world(one)
    const [, claims = '', proof = ''] = (one.sign(here.signing)['plaid-verification'] ?? '').split('.')
    for (const header of [
      { alg: 'none', kid: 'key-1' },
      { alg: 'HS256', kid: 'key-1' },
      { alg: 'ES256' },
      { alg: 'ES256', kid: '../x' },
    ]) {
      const token = `${b64url(header)}.${claims}.${proof}`
      expect(
        await verified(here, arriving({ 'plaid-verification': token }, here.signing.body)),
      ).toMatchObject({
        code: 'SIGNATURE_MALFORMED',
      })
    }
    expect(here.server.requests).toEqual([])
    const jwk = here.keys.get('key-1')?.export({ format: 'jwk' })
    here.trouble = JSON.stringify({ key: { ...jwk, expired_at: 1_600_000_000 } })
    expect(await verified(here, arriving(one.sign(here.signing), here.signing.body))).toMatchObject({
      code: 'KEYS_UNAVAILABLE',
      detail: expect.not.stringContaining('api-secret'),
    })
  })

  it('plaid: equal bodies at different times are two events', async () => {
    const one = find('plaid')
    const here = await world(one)
    const keys = [0, 0, 1_000].map((ms) => {
      const headers = one.sign({ ...here.signing, atMs: NOW_MS + ms })
      const event = here.source.identify(arriving(headers, here.signing.body))
      return event.ok ? event.key : undefined
    })
    expect(keys[0]).toBe(keys[1])
    expect(keys[2]).not.toBe(keys[0])
  })

  it('fusionauth: a token cannot choose an algorithm that does not fit its key', async () => {
    const one = find('fusionauth')
    const here = await world(one)
    const [, claims = '', proof = ''] = (one.sign(here.signing)['x-fusionauth-signature-jwt'] ?? '').split(
      '.',
    )
    for (const alg of ['ES256', 'ES384', 'RS256', 'RS512']) {
      const token = `${b64url({ alg, kid: 'key-1' })}.${claims}.${proof}`
      const delivery = arriving({ 'x-fusionauth-signature-jwt': token }, here.signing.body)
      expect(await verified(here, delivery)).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    }
    // Using the public key as the secret of an HMAC is a classic attack.
    for (const alg of ['HS256', 'none']) {
      const token = `${b64url({ alg, kid: 'key-1' })}.${claims}.${proof}`
      const delivery = arriving({ 'x-fusionauth-signature-jwt': token }, here.signing.body)
      expect(await verified(here, delivery)).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
    }
  })

  it('fal: a delivery for another user is rejected, although fal signed it', async () => {
    const one = { ...find('fal'), settings: { userId: 'user-2' } }
    const here = await world(one)
    expect(await verified(here, arriving(one.sign(here.signing), here.signing.body))).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    expect(here.server.requests).toEqual([])
  })

  it('ebay: the challenge is answered with the hash of challenge, token and URL', async () => {
    const here = await world(find('ebay'))
    const challenge = { ...arriving({}, Buffer.alloc(0)), method: 'GET', url: '/in?challenge_code=abc' }
    const expected = createHash('sha256')
      .update(`abc${'v'.repeat(32)}https://example.com/in`)
      .digest('hex')
    expect(here.source.handshake?.(challenge)).toMatchObject({
      ok: true,
      body: JSON.stringify({ challengeResponse: expected }),
    })
  })

  it.each([
    ['plaid', { clientId: 'c', environment: 'development' }],
    ['ebay', { clientId: 'c', environment: 'PRODUCTION', verificationToken: 'x' }],
    ['fusionauth', { url: 'http://auth.example.com' }],
    ['fusionauth', { url: 'file:///etc/passwd' }],
    ['neon-auth', { authUrl: 'auth.example.com' }],
  ])('%s: invalid settings fail at construction: %o', (id, settings) => {
    const { description, code, secret } = find(id)
    const options = checkOptions(
      { secret, settings: settings as Record<string, string>, url: 'https://example.com' },
      id,
    )
    const make = () =>
      compile(
        checkDescription(description),
        options,
        code(async () => ''),
      )
    expect(make).toThrow(/^CONFIG_INVALID/)
  })
})
