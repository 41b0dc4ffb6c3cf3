import { createHash, createSecretKey } from 'node:crypto'
import { createRequire } from 'node:module'
import { EventCallbackHelper, EventCallbackRequest } from '@dropbox/sign'
import { verifyWebhookSignature as verifyHookdeck } from '@hookdeck/sdk/webhooks/helpers.js'
import Mux from '@mux/mux-node'
import { WebhookEventVerifier } from '@onfido/api'
import { verifySignature as verifyVonageToken } from '@vonage/jwt'
import { Cashfree, CFEnvironment } from 'cashfree-pg'
import { v2 as cloudinarySdk } from 'cloudinary'
import fc from 'fast-check'
import { verifyWebhookSignature as verifyHook0 } from 'hook0-client'
import Lithic from 'lithic'
import { AccessToken } from 'livekit-server-sdk'
import { WebhookSignatureValidator } from 'mercadopago'
import ModernTreasury from 'modern-treasury'
import Orb from 'orb-billing'
import Retell from 'retell-sdk'
import { describe, expect, it } from 'vitest'
import { WebflowClient } from 'webflow-api'
import type { Delivery } from '../contract.ts'
import {
  cashfree,
  cloudinary,
  dropboxSign,
  easypost,
  hook0,
  hookdeck,
  lithic,
  livekit,
  mercadopago,
  messagebird,
  modernTreasury,
  mux,
  onfido,
  orb,
  retell,
  vonage,
  webflow,
} from '../index.ts'
import type { SourceOptions } from '../options.ts'
import type { SigningSource } from '../sign.ts'

/* What the vendors' own SDKs sign we verify, and what we sign they verify; each names the code it was run against. */

type Headers = Readonly<Record<string, string>>

interface Proof {
  readonly evidence: string
  readonly source: (options: SourceOptions) => SigningSource
  /** What the SDK takes: JSON that it parses, any text, or any bytes. */
  readonly bodies: 'json' | 'text' | 'bytes'
  /** Throws or says no, where the SDK does not believe it. */
  readonly verify?: (body: Buffer, headers: Headers, secret: string) => unknown
  readonly sign?: (body: Buffer, secret: string, atMs: number) => Headers | Promise<Headers>
}

const seconds = (atMs: number): number => Math.floor(atMs / 1000)
const require = createRequire(import.meta.url)

const proofs: Proof[] = [
  {
    evidence: 'npm:@mux/mux-node@15.3.0:resources/webhooks/webhooks.js',
    source: mux,
    bodies: 'text',
    verify: (body, headers, secret) =>
      new Mux({ tokenId: 'x', tokenSecret: 'x' }).webhooks.verifySignature(body.toString(), headers, secret),
  },
  {
    evidence: 'npm:@easypost/api@8.9.0:src/utils/util.js',
    source: easypost,
    bodies: 'json',
    verify: (body, headers, secret) => new EasyPost('x').Utils.validateWebhook(body, headers, secret),
  },
  {
    evidence: 'npm:@onfido/api@6.2.0:dist/webhook-event-verifier.js',
    source: onfido,
    bodies: 'json',
    verify: (body, headers, secret) =>
      new WebhookEventVerifier(secret).readPayload(body, headers['x-sha2-signature'] ?? ''),
  },
  {
    evidence: 'npm:cloudinary@2.11.0:lib/utils/index.js',
    source: cloudinary,
    bodies: 'text',
    verify(body, headers, secret) {
      cloudinarySdk.config({ api_secret: secret })
      return cloudinarySdk.utils.verifyNotificationSignature(
        body.toString(),
        Number(headers['x-cld-timestamp']),
        headers['x-cld-signature'] ?? '',
      )
    },
    sign: (body, secret, atMs) => ({
      'x-cld-timestamp': String(seconds(atMs)),
      'x-cld-signature': cloudinarySdk.utils.webhook_signature(body.toString(), seconds(atMs), {
        api_secret: secret,
      }),
    }),
  },
  {
    evidence: 'npm:retell-sdk@5.66.1:lib/webhook_auth.js',
    source: retell,
    bodies: 'text',
    verify: (body, headers, secret) =>
      Retell.verify(body.toString(), secret, headers['x-retell-signature'] ?? ''),
    sign: async (body, secret) => ({ 'x-retell-signature': await Retell.sign(body.toString(), secret) }),
  },
  {
    evidence: 'npm:orb-billing@6.11.0:resources/webhooks.js',
    source: orb,
    bodies: 'text',
    verify: (body, headers, secret) =>
      new Orb({ apiKey: 'x' }).webhooks.verifySignature(body.toString(), headers, secret),
  },
  {
    evidence: 'npm:modern-treasury@3.3.0:resources/webhooks.js',
    source: modernTreasury,
    bodies: 'text',
    verify: (body, headers, key) =>
      modernTreasurySdk().webhooks.validateSignature(body.toString(), headers, { key }),
    sign: (body, key) => ({
      'x-signature': modernTreasurySdk().webhooks.getSignature(body.toString(), { key }),
    }),
  },
  {
    evidence: 'npm:lithic@0.145.0:resources/webhooks.js',
    source: lithic,
    bodies: 'json',
    verify: (body, headers, secret) =>
      new Lithic({ apiKey: 'x' }).webhooks.verifySignature(body.toString(), headers, secret),
  },
  {
    evidence: 'npm:cashfree-pg@6.0.6:dist/api.js',
    source: cashfree,
    bodies: 'json',
    verify: (body, headers, secret) =>
      new Cashfree(CFEnvironment.SANDBOX, 'x', secret).PGVerifyWebhookSignature(
        headers['x-webhook-signature'] ?? '',
        body.toString(),
        headers['x-webhook-timestamp'] ?? '',
      ),
  },
  {
    evidence: 'npm:hook0-client@1.1.0:dist/signature.js',
    source: hook0,
    bodies: 'bytes',
    verify: (body, headers, secret) =>
      verifyHook0(headers['x-hook0-signature'] ?? '', body, new Headers(headers), secret, 300),
  },
  {
    evidence: 'npm:@hookdeck/sdk@0.4.0:webhooks/helpers.js',
    source: hookdeck,
    bodies: 'text',
    verify: async (body, headers, signingSecret) =>
      (await verifyHookdeck({ headers: { ...headers }, rawBody: body.toString(), signingSecret }))
        .isValidSignature,
  },
  {
    evidence: 'npm:webflow-api@3.3.4:wrapper/WebhooksClient.js',
    source: webflow,
    bodies: 'text',
    verify: (body, headers, secret) =>
      new WebflowClient({ accessToken: 'x' }).webhooks.verifySignature({
        headers: { ...headers },
        body: body.toString(),
        secret,
      }),
  },
  {
    evidence: 'npm:livekit-server-sdk@2.19.2:dist/AccessToken.js',
    source: livekit,
    bodies: 'bytes',
    async sign(body, secret) {
      const token = new AccessToken('key', secret)
      token.sha256 = createHash('sha256').update(body).digest('base64')
      return { authorization: await token.toJwt() }
    },
  },
  {
    evidence: 'npm:messagebird@4.0.1:lib/webhook-signature-jwt.js',
    source: (options) => messagebird({ ...options, url: URL_SIGNED }),
    bodies: 'bytes',
    verify: (body, headers, secret) =>
      messagebirdSdk.verify(
        URL_SIGNED,
        body,
        headers['messagebird-signature-jwt'] ?? '',
        createSecretKey(Buffer.from(secret)),
      ),
  },
]

const URL_SIGNED = 'https://example.com/in/messagebird?a=1'

interface EasyPostSdk {
  readonly Utils: { validateWebhook(body: Buffer, headers: Headers, secret: string): unknown }
}

// Its types say that it has no client, MessageBird's know nothing of webhooks.
const EasyPost: new (key: string) => EasyPostSdk = require('@easypost/api')

interface MessageBirdSdk {
  verify(url: string, payload: Buffer, jwt: string, key: ReturnType<typeof createSecretKey>): Promise<true>
}

const messagebirdSdk: MessageBirdSdk = require('messagebird/lib/webhook-signature-jwt')

function modernTreasurySdk(): ModernTreasury {
  return new ModernTreasury({ organizationID: 'x', apiKey: 'x' })
}

const wellFormed = fc.string({ unit: 'grapheme' })
const json = fc
  .dictionary(wellFormed, fc.jsonValue({ stringUnit: 'grapheme' }))
  .map((value) => JSON.stringify(value))
const large = Buffer.from(JSON.stringify({ text: 'é'.repeat(524_288) }))
// Text that every SDK's way to read a secret takes alike: Standard Webhooks decodes it as base64.
const secrets = fc.base64String({ minLength: 24, maxLength: 64 }).filter((text) => !text.endsWith('='))

function bodiesOf(kind: Proof['bodies']): fc.Arbitrary<Buffer> {
  const written = json.map((text) => Buffer.from(text))
  if (kind === 'json') return written
  const text = fc.oneof(
    written,
    wellFormed.map((one) => Buffer.from(one)),
    fc.constant(Buffer.alloc(0)),
  )
  if (kind === 'text') return text
  return fc.oneof(
    text,
    fc.uint8Array({ maxLength: 4_096 }).map((bytes) => Buffer.from(bytes)),
  )
}

/** In front: an HMAC pads its key with zeros, so that `AAAA` at the end, decoded, would change nothing. */
function otherThan(secret: string): string {
  return `Zm9v${secret}`
}

function deliver(headers: Headers, body: Uint8Array, receivedAtMs = Date.now(), url = '/'): Delivery {
  return { method: 'POST', url, header: (name) => headers[name], body, receivedAtMs }
}

async function believes(verdict: () => unknown): Promise<boolean> {
  try {
    const said = await verdict()
    return said !== false && !(said instanceof Error)
  } catch {
    return false
  }
}

/** Random bodies, and one of a megabyte. */
async function eachBody(
  kind: Proof['bodies'],
  check: (body: Buffer, secret: string) => Promise<void>,
): Promise<void> {
  await check(large, 'bGFyZ2UgYm9keSwgbGFyZ2Ugc2VjcmV0')
  await fc.assert(fc.asyncProperty(bodiesOf(kind), secrets, check), { numRuns: 50 })
}

describe.each(proofs)('$evidence', ({ source, bodies, verify, sign }) => {
  if (verify !== undefined)
    it('verifies what we sign, and nothing else', () =>
      eachBody(bodies, async (body, secret) => {
        const headers = source({ secret }).sign({ body, timestampMs: Date.now() })
        expect(await believes(() => verify(body, headers, secret))).toBe(true)
        expect(await believes(() => verify(Buffer.from(`${body} `), headers, secret))).toBe(false)
        expect(await believes(() => verify(body, headers, otherThan(secret)))).toBe(false)
      }))

  if (sign !== undefined)
    it('signs what we verify', () =>
      eachBody(bodies, async (body, secret) => {
        const headers = await sign(body, secret, Date.now())
        expect(source({ secret }).verify(deliver(headers, body))).toEqual({ ok: true, secret: 1 })
        expect(source({ secret: otherThan(secret) }).verify(deliver(headers, body)).ok).toBe(false)
        expect(source({ secret }).verify(deliver(headers, Buffer.from(`${body} `))).ok).toBe(false)
      }))
})

describe('npm:mercadopago@3.6.1:dist/utils/webhook/index.js', () => {
  it('verifies what we sign, and nothing else', () => {
    const id = fc.stringMatching(/^[A-Za-z0-9-]{1,40}$/)
    fc.assert(
      fc.property(id, id, secrets, (dataId, requestId, secret) => {
        const signed = mercadopago({ secret }).deliver({
          body: '{"id":1}',
          url: `/?data.id=${dataId}&type=payment`,
          headers: { 'x-request-id': requestId },
          timestampMs: Date.now(),
        })
        const asked = { xSignature: signed.headers['x-signature'], xRequestId: requestId, secret }
        const toleranceSeconds = 300
        WebhookSignatureValidator.validate({ ...asked, dataId, toleranceSeconds })
        expect(() => WebhookSignatureValidator.validate({ ...asked, dataId: `${dataId}1` })).toThrow()
        expect(
          mercadopago({ secret }).verify(deliver(signed.headers, signed.body, Date.now(), signed.url)).ok,
        ).toBe(true)
        expect(
          mercadopago({ secret }).verify(deliver(signed.headers, signed.body, Date.now(), '/?data.id=.')).ok,
        ).toBe(false)
      }),
    )
  })
})

describe('npm:@dropbox/sign@1.11.0:model/eventCallbackHelper.ts', () => {
  it('verifies what we sign, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4_000_000_000 }),
        fc.stringMatching(/^[a-z_]{1,40}$/),
        secrets,
        (time, type, secret) => {
          const payload = { event: { event_time: String(time), event_type: type, event_hash: '' } }
          const { body } = dropboxSign({ secret }).deliver({
            body: new URLSearchParams({ json: JSON.stringify(payload) }).toString(),
          })
          const signed: unknown = JSON.parse(
            new URLSearchParams(Buffer.from(body).toString()).get('json') ?? '',
          )
          const callback = EventCallbackRequest.init(signed as Record<string, unknown>)
          expect(EventCallbackHelper.isValid(secret, callback)).toBe(true)
          expect(EventCallbackHelper.isValid(`${secret}x`, callback)).toBe(false)
        },
      ),
    )
  })
})

describe('npm:@vonage/jwt@1.14.0:dist/cjs/verifySignature.js', () => {
  it('verifies the token that we sign, and nothing else', () => {
    fc.assert(
      fc.property(json, secrets, (body, secret) => {
        const { authorization = '' } = vonage({ secret }).sign({ body, timestampMs: Date.now() })
        const token = authorization.slice('Bearer '.length)
        expect(verifyVonageToken(token, secret)).toBe(true)
        expect(verifyVonageToken(token, `${secret}x`)).toBe(false)
      }),
    )
  })
})

interface ReferenceCase {
  readonly name: string
  readonly method: string
  readonly secret: string
  readonly url: string
  readonly payload?: string
  readonly timestamp: string
  readonly token: string
  readonly valid: boolean
}

const reference: ReferenceCase[] = require('messagebird/lib/testdata/webhook-signature-jwt-reference.json')

describe('npm:messagebird@4.0.1:lib/testdata/webhook-signature-jwt-reference.json', () => {
  it.each(reference)('$name', ({ secret, url, payload, timestamp, token, valid }) => {
    const delivery = deliver(
      { 'messagebird-signature-jwt': token },
      Buffer.from(payload ?? ''),
      Date.parse(timestamp),
    )
    expect(messagebird({ secret: secret ?? 'x', url }).verify(delivery).ok).toBe(valid)
  })
})
