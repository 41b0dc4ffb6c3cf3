import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { EventWebhook } from '@sendgrid/eventwebhook'
import { verifyKey } from 'discord-interactions'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { discord, sendgrid } from '../../src/sources/index.ts'
import { anyText, deliver } from './prove.ts'

/*
 * Providers that sign with a private key: their code verifies deliveries that hookonce signs with a
 * test key.
 */

const NOW_MS = Math.floor(Date.now() / 1000) * 1000
const MEGABYTE = JSON.stringify({ text: 'é😀\u2028'.repeat(110_000) })
const text = fc.oneof(
  { weight: 20, arbitrary: anyText },
  { weight: 1, arbitrary: fc.constantFrom('', MEGABYTE) },
)

const pemOf = (key: KeyObject): string => key.export({ format: 'pem', type: 'pkcs8' }).toString()

describe('npm:@sendgrid/eventwebhook', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const sdk = new EventWebhook()
  const theirs = sdk.convertPublicKeyToECDSA(
    publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  )
  const ours = sendgrid({ secret: pemOf(privateKey) })
  const believes = (body: string, headers: Record<string, string>): boolean =>
    sdk.verifySignature(
      theirs,
      body,
      headers['x-twilio-email-event-webhook-signature'] ?? '',
      headers['x-twilio-email-event-webhook-timestamp'] ?? '',
    )

  it('verifies what we sign', () => {
    fc.assert(
      fc.property(text, (body) => {
        const headers = ours.sign({ body, timestampMs: NOW_MS })
        expect(believes(body, headers)).toBe(true)
        expect(believes(`${body} `, headers)).toBe(false)
      }),
      { numRuns: 15 },
    )
  })
})

describe('npm:discord-interactions', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const hex = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')

  it('verifies what we sign, bytes as well', async () => {
    const ours = discord({ secret: pemOf(privateKey) })
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.uint8Array()), async (body) => {
        const headers = ours.sign({ body, timestampMs: NOW_MS })
        const believes = (bytes: Uint8Array): Promise<boolean> =>
          verifyKey(bytes, headers['x-signature-ed25519'] ?? '', headers['x-signature-timestamp'] ?? '', hex)
        expect(await believes(Buffer.from(body))).toBe(true)
        expect(await believes(Buffer.concat([Buffer.from(body), Buffer.from(' ')]))).toBe(false)
        // The key in the form that the dashboard shows.
        expect(discord({ secret: hex }).verify(deliver(headers, body))).toEqual({ ok: true, secret: 1 })
      }),
      { numRuns: 40 },
    )
  })
})
