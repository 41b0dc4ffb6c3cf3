import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { everyProvider } from '../../../test/support/catalogue.ts'
import { custom, type Delivery, standardWebhooks, svix } from '../index.ts'
import { isDigest } from '../signature.ts'

/* Standard Webhooks `v1a`: Ed25519 and HMAC side by side, selected by the form of the secret. */

// Svix's test vector: github.com/svix/svix-webhooks, server/svix-server/src/worker.rs.
const PRIVATE =
  'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=='
const PUBLIC = 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4='
const V1A = 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=='
const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
const BODY = '{"test": 2432232314}'
const AT_MS = 1_614_265_330_000
// The vector for the same content from the Go tests of Standard Webhooks.
const SYMMETRIC = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const V1 = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='

const other = generateKeyPairSync('ed25519')
const OTHER = `whpk_${other.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`
const FORGED = `v1a,${'A'.repeat(86)}==`

function delivered(
  signature: string,
  changed: Partial<Record<'id' | 'time' | 'body', string>> = {},
): Delivery {
  const { id = ID, time = '1614265330', body = BODY } = changed
  const headers = new Map([
    ['webhook-id', id],
    ['webhook-timestamp', time],
    ['webhook-signature', signature],
  ])
  const header = (name: string): string | undefined => headers.get(name)
  return { method: 'POST', url: '/', header, body: Buffer.from(body), receivedAtMs: AT_MS }
}

const verify = (secret: string | string[], delivery: Delivery) =>
  standardWebhooks({ secret }).verify(delivery)

describe('v1a', () => {
  it('is verified with a public key, and signed with the private one', () => {
    expect(verify(PUBLIC, delivered(V1A))).toEqual({ ok: true, secret: 1 })
    expect(verify(PRIVATE, delivered(V1A))).toEqual({ ok: true, secret: 1 })
    const seed = `whsk_${Buffer.from(PRIVATE.slice(5), 'base64').subarray(0, 32).toString('base64')}`
    for (const secret of [PRIVATE, seed])
      expect(standardWebhooks({ secret }).sign({ body: BODY, id: ID, timestampMs: AT_MS })).toMatchObject({
        'webhook-signature': V1A,
      })
    expect(() => standardWebhooks({ secret: PUBLIC }).sign({ body: BODY })).toThrow(/private key.*whsk_/)
  })

  it('also accepts a PEM', () => {
    const pem = other.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const { headers } = standardWebhooks({ secret: pem }).deliver({ body: BODY, id: ID, timestampMs: AT_MS })
    expect(verify(OTHER, delivered(headers['webhook-signature'] ?? ''))).toMatchObject({ ok: true })
  })

  it('is found among several signatures, of both kinds', () => {
    for (const list of [
      `${FORGED} ${V1A}`,
      `${V1} ${V1A}`,
      `${V1A} ${V1}`,
      `v2,xx ${FORGED} ${V1} ${FORGED} ${V1A}`,
    ])
      expect(verify(PUBLIC, delivered(list))).toEqual({ ok: true, secret: 1 })
    expect(verify([OTHER, PUBLIC], delivered(V1A))).toEqual({ ok: true, secret: 2 })
    expect(verify([SYMMETRIC, PUBLIC], delivered(V1A))).toEqual({ ok: true, secret: 2 })
    expect(verify([PUBLIC, SYMMETRIC], delivered(V1))).toEqual({ ok: true, secret: 2 })
    expect(verify([OTHER, SYMMETRIC], delivered(`${V1A} ${V1}`))).toEqual({ ok: true, secret: 2 })
  })

  it('is rejected if any part of it is different', () => {
    for (const changed of [{ id: `${ID}x` }, { time: '1614265331' }, { body: `${BODY} ` }])
      expect(verify(PUBLIC, delivered(V1A, changed))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    expect(verify(OTHER, delivered(V1A))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    expect(verify(PUBLIC, delivered(FORGED))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    expect(verify(PUBLIC, delivered(V1A.slice(0, -4)))).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
    expect(verify(PUBLIC, { ...delivered(V1A), receivedAtMs: AT_MS + 301_000 })).toMatchObject({
      code: 'TIMESTAMP_TOO_OLD',
    })
  })

  it('is never mistaken for v1, nor v1 for it: the rejection names the missing secret', () => {
    expect(verify(PUBLIC, delivered(V1))).toMatchObject({
      code: 'SIGNATURE_MALFORMED',
      detail: expect.stringMatching(/no v1a signature .* a v1 signature.*secret/),
    })
    expect(verify(SYMMETRIC, delivered(V1A))).toMatchObject({
      code: 'SIGNATURE_MALFORMED',
      detail: expect.stringMatching(/no v1 signature .* a v1a signature.*whpk_/),
    })
    // The bytes of a public key are public. As an HMAC secret they must prove nothing.
    const known = standardWebhooks({ secret: `whsec_${PUBLIC.slice('whpk_'.length)}` })
    const { headers } = known.deliver({ body: BODY, id: ID, timestampMs: AT_MS })
    expect(verify(PUBLIC, delivered(headers['webhook-signature'] ?? ''))).toMatchObject({ ok: false })
  })

  it('tries at most eight signatures, and the rejection counts the others', () => {
    const verifiedAfter = (forged: number) =>
      verify(PUBLIC, delivered([...Array<string>(forged).fill(FORGED), V1A, V1].join(' ')))
    expect(verifiedAfter(7)).toMatchObject({ ok: true })
    expect(verifiedAfter(8)).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
      detail: expect.stringContaining('; 1 more signature(s) of the header were not tried'),
    })
  })

  it('has a rejection that mentions no limit if every signature was tried', () => {
    expect(verify(PUBLIC, delivered(FORGED))).toMatchObject({
      detail: 'none of the 1 configured secret(s) made this signature',
    })
  })

  it.each([
    'whpk_',
    'whpk_AAAA',
    `whpk_${'A'.repeat(44)}`,
    'whsk_AAAA',
    'whpk_§',
    PUBLIC.replace('whpk_', 'whsk_x'),
  ])('refuses the key %s when the source is made', (secret) => {
    expect(() => standardWebhooks({ secret })).toThrow(/CONFIG_INVALID: standard-webhooks: secret 1/)
  })

  it('is accepted by every provider of the catalogue that signs like this, and by custom()', async () => {
    expect(svix({ secret: PRIVATE }).sign({ body: '{}' })['svix-signature']).toMatch(/^v1a,/)
    const standard = (await everyProvider()).filter(
      ({ description: { signature } }) => isDigest(signature) && signature.asymmetric !== undefined,
    )
    expect(standard.length).toBeGreaterThan(10)
    for (const { make, options } of standard) {
      const sent = make({ ...options, secret: PRIVATE }).deliver({ body: '{}', timestampMs: AT_MS })
      const header = (name: string): string | undefined => sent.headers[name]
      expect(make({ ...options, secret: PUBLIC }).verify({ ...sent, header, receivedAtMs: AT_MS }).ok).toBe(
        true,
      )
    }
    const own = custom({
      secret: PUBLIC,
      signature: {
        algorithm: 'hmac-sha256',
        header: 'webhook-signature',
        encoding: 'base64',
        format: { kind: 'list', itemSeparator: ' ', fieldSeparator: ',', signatureField: 'v1' },
        content: '{header:webhook-id}.{header:webhook-timestamp}.{body}',
        asymmetric: { signatureField: 'v1a', publicPrefix: 'whpk_', privatePrefix: 'whsk_' },
      },
      event: { key: 'header:webhook-id' },
    })
    expect(own.verify(delivered(`${V1} ${V1A}`))).toEqual({ ok: true, secret: 1 })
  })
})
