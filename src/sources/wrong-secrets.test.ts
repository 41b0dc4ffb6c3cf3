import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { everyProvider } from '../../test/support/catalogue.ts'
import { HookonceError } from '../model/errors.ts'
import { clerk, github, openai, paystack, resend, shopify, slack, standardWebhooks, stripe } from './index.ts'
import { takesPublicKey } from './signature.ts'

/* A secret of the wrong kind is an error when the source is created, not at every delivery. */

const KEYS = {
  ed25519: generateKeyPairSync('ed25519'),
  x25519: generateKeyPairSync('x25519'),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
} as const
type Kind = keyof typeof KEYS

function pems(kind: Kind): string[] {
  const { publicKey, privateKey } = KEYS[kind]
  return [
    publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  ]
}

const kindOf = (algorithm: string): Kind =>
  algorithm === 'ed25519' ? 'ed25519' : algorithm.startsWith('ecdsa') ? 'p256' : 'rsa'

const withKeys = (await everyProvider()).filter(({ description }) => takesPublicKey(description.signature))

describe.each(withKeys)('$id', ({ id, make, options, description }) => {
  const right = kindOf(description.signature.algorithm)

  it('accepts public keys of its own kind, and names that kind if it gets another one', () => {
    for (const kind of Object.keys(KEYS) as Kind[])
      for (const secret of pems(kind)) {
        const attempt = () => make({ ...options, secret: ['', secret] })
        if (kind === right) expect(attempt).not.toThrow()
        else
          expect(attempt).toThrow(
            new RegExp(`^CONFIG_INVALID: ${id}: secret 2 is a key of the kind .*; this provider signs with `),
          )
      }
  })
})

it('Standard Webhooks rejects a PEM of another kind', () => {
  for (const kind of ['rsa', 'p256'] as const)
    for (const secret of pems(kind).filter((text) => text.startsWith('-----')))
      expect(() => standardWebhooks({ secret })).toThrow(/CONFIG_INVALID: .*Ed25519/)
})

describe('an API key in the place of the webhook secret', () => {
  it.each([
    ['stripe', stripe, 'sk_live_', 'whsec_'],
    ['stripe', stripe, 'sk_test_', 'whsec_'],
    ['stripe', stripe, 'rk_live_', 'whsec_'],
    ['stripe', stripe, 'pk_test_', 'whsec_'],
    ['clerk', clerk, 'sk_live_', 'whsec_'],
    ['resend', resend, 're_', 'whsec_'],
    ['openai', openai, 'sk-', 'whsec_'],
    ['github', github, 'ghp_', 'secret of the webhook'],
    ['github', github, 'github_pat_', 'secret of the webhook'],
    ['slack', slack, 'xoxb-', 'Signing Secret'],
    ['shopify', shopify, 'shpat_', 'client secret'],
  ] as const)('%s: is refused with advice: %s, %s', (name, make, prefix, advice) => {
    const attempt = () => make({ secret: `${prefix}51HxAmPlE0000000` })
    expect(attempt).toThrow(HookonceError)
    expect(attempt).toThrow(`CONFIG_INVALID: ${name}: secret 1 begins with "${prefix}": that is an API`)
    expect(attempt).toThrow(advice)
    expect(attempt).not.toThrow('51HxAmPlE')
  })

  it('is accepted if the provider signs with the API key', () => {
    expect(() => paystack({ secret: 'sk_live_51HxAmPlE0000000' })).not.toThrow()
  })

  it('is rejected if a function returns it, and never printed', async () => {
    const source = stripe({ secret: () => 'sk_live_51HxAmPlE0000000' })
    const header = (): undefined => undefined
    const delivery = { method: 'POST', url: '/', header, body: Buffer.from('{}'), receivedAtMs: 1 }
    const refusal = await source.prepare?.(delivery)
    expect(refusal).toMatchObject({ code: 'KEYS_UNAVAILABLE', detail: expect.stringContaining('API key') })
    expect(refusal?.detail).not.toContain('51HxAmPlE')
  })
})
