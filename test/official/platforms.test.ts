import { createHash, createSecretKey } from 'node:crypto'
import { createRequire } from 'node:module'
import { verifyWebhookSignature as verifyHookdeck } from '@hookdeck/sdk/webhooks/helpers.js'
import { Signature as HubSpotSignature } from '@hubspot/api-client'
import { validateSignature } from '@line/bot-sdk'
import { LinearWebhookClient } from '@linear/sdk/webhooks'
import Mux from '@mux/mux-node'
import { signWebhookPayload, verifyWebhookSignature } from '@notionhq/client'
import { WebhookEventVerifier } from '@onfido/api'
import { assertValidSignature, encodeSignatureHeader } from '@sanity/webhook'
import { isValidSlackRequest } from '@slack/bolt/dist/receivers/verify-request.js'
import { WorkOS } from '@workos-inc/node'
import { v2 as cloudinarySdk } from 'cloudinary'
import { verifyWebhookSignature as verifyHook0 } from 'hook0-client'
import { AccessToken } from 'livekit-server-sdk'
import Pusher from 'pusher'
import Retell from 'retell-sdk'
import { WebflowClient } from 'webflow-api'
import {
  cloudinary,
  hook0,
  hookdeck,
  hubspot,
  hygraph,
  line,
  linear,
  livekit,
  messagebird,
  mux,
  notion,
  onfido,
  pusher,
  retell,
  sanity,
  slack,
  webflow,
  workos,
} from '../../src/sources/index.ts'
import { plainSecret, prove, text } from './prove.ts'

/* Providers with their own scheme, except payments, against their own code. */

const require = createRequire(import.meta.url)

const URL_SIGNED = 'https://example.com/in/x?a=1'

interface MessageBirdSdk {
  verify(url: string, payload: Buffer, jwt: string, key: ReturnType<typeof createSecretKey>): Promise<true>
}

// Its types lack webhooks, and Hygraph has no types.
const messagebirdSdk: MessageBirdSdk = require('messagebird/lib/webhook-signature-jwt')

interface HygraphUtils {
  generateWebhookSignature(sample: { rawPayload: string; secret: string; environmentName: string }): string
  verifyWebhookSignature(given: { rawPayload: string; secret: string; signature: string }): boolean
}

const hygraphSdk: HygraphUtils = require('@hygraph/utils')

prove([
  {
    evidence: 'npm:@sanity/webhook@4.0.4',
    make: sanity,
    secret: plainSecret,
    bodies: 'json',
    believes: (delivery, secret) =>
      assertValidSignature(text(delivery), delivery.headers['sanity-webhook-signature'] ?? '', secret),
    sign: async (body, secret, at) => ({
      'sanity-webhook-signature': await encodeSignatureHeader(String(body), at.getTime(), secret),
    }),
  },
  {
    evidence: 'npm:@workos-inc/node@8.13.0: webhooks (it signs what JSON.stringify makes of the payload)',
    make: workos,
    secret: plainSecret,
    bodies: 'json',
    believes: (delivery, secret) =>
      new WorkOS('sk_x').webhooks.verifyHeader({
        payload: JSON.parse(text(delivery)),
        sigHeader: delivery.headers['workos-signature'] ?? '',
        secret,
      }),
    sign: async (body, secret, at) => {
      const made = await new WorkOS('sk_x').webhooks.computeSignature(
        at.getTime(),
        JSON.parse(String(body)),
        secret,
      )
      return { 'workos-signature': `t=${at.getTime()}, v1=${made}` }
    },
  },
  {
    evidence: 'npm:@notionhq/client@5.26.0',
    make: notion,
    secret: plainSecret,
    bodies: 'bytes',
    believes: ({ headers, body }, verificationToken) =>
      verifyWebhookSignature({ body, signature: headers['x-notion-signature'], verificationToken }),
    sign: async (body, verificationToken) => ({
      'x-notion-signature': await signWebhookPayload({ body, verificationToken }),
    }),
  },
  {
    evidence: 'npm:@slack/bolt@5.1.0:dist/receivers/verify-request.js',
    make: slack,
    secret: plainSecret,
    bodies: 'text',
    believes: (delivery, signingSecret) =>
      isValidSlackRequest({
        signingSecret,
        body: text(delivery),
        headers: {
          'x-slack-signature': delivery.headers['x-slack-signature'] ?? '',
          'x-slack-request-timestamp': Number(delivery.headers['x-slack-request-timestamp']),
        },
      }),
  },
  {
    evidence: 'npm:@hubspot/api-client@13.5.0: Signature (v3)',
    make: (options) => hubspot({ ...options, url: URL_SIGNED }),
    secret: plainSecret,
    bodies: 'text',
    believes: (delivery, clientSecret) =>
      HubSpotSignature.isValid({
        signatureVersion: 'v3',
        clientSecret,
        signature: delivery.headers['x-hubspot-signature-v3'] ?? '',
        timestamp: Number(delivery.headers['x-hubspot-request-timestamp']),
        url: URL_SIGNED,
        requestBody: text(delivery),
      }),
    sign: (body, clientSecret, at) => ({
      'x-hubspot-request-timestamp': String(at.getTime()),
      'x-hubspot-signature-v3': HubSpotSignature.getSignature('POST', 'v3', {
        clientSecret,
        url: URL_SIGNED,
        requestBody: String(body),
        timestamp: at.getTime(),
        signature: '',
      }),
    }),
  },
  {
    evidence: 'npm:@line/bot-sdk@10.8.0: validateSignature',
    make: line,
    secret: plainSecret,
    bodies: 'bytes',
    believes: ({ headers, body }, secret) =>
      validateSignature(Buffer.from(body), secret, headers['x-line-signature'] ?? ''),
  },
  {
    evidence: 'npm:@linear/sdk@98.0.0: LinearWebhookClient',
    make: linear,
    secret: plainSecret,
    bodies: 'json',
    believes: ({ headers, body }, secret) =>
      new LinearWebhookClient(secret).verify(Buffer.from(body), headers['linear-signature'] ?? ''),
  },
  {
    evidence: 'npm:pusher@5.3.4: webhook',
    make: pusher,
    secret: plainSecret,
    bodies: 'json',
    believes: (delivery, secret) =>
      new Pusher({ appId: '1', key: 'k', secret, cluster: 'eu' })
        .webhook({ headers: { ...delivery.headers, 'x-pusher-key': 'k' }, rawBody: text(delivery) })
        .isValid(),
  },
  {
    evidence: 'npm:@hygraph/utils@1.2.1',
    make: hygraph,
    secret: plainSecret,
    bodies: 'json',
    believes: (delivery, secret) =>
      hygraphSdk.verifyWebhookSignature({
        rawPayload: text(delivery),
        secret,
        signature: delivery.headers['gcms-signature'] ?? '',
      }),
    sign: (body, secret) => ({
      'gcms-signature': hygraphSdk.generateWebhookSignature({
        rawPayload: String(body),
        secret,
        environmentName: 'dev-2',
      }),
    }),
  },
  {
    evidence: 'npm:@mux/mux-node@15.3.0:resources/webhooks/webhooks.js',
    make: mux,
    secret: plainSecret,
    bodies: 'text',
    believes: (delivery, secret) =>
      new Mux({ tokenId: 'x', tokenSecret: 'x' }).webhooks.verifySignature(
        text(delivery),
        delivery.headers,
        secret,
      ),
  },
  {
    evidence: 'npm:@onfido/api@6.2.0:dist/webhook-event-verifier.js',
    make: onfido,
    secret: plainSecret,
    bodies: 'json',
    believes: ({ headers, body }, secret) =>
      new WebhookEventVerifier(secret).readPayload(Buffer.from(body), headers['x-sha2-signature'] ?? ''),
  },
  {
    evidence: 'npm:cloudinary@2.11.0:lib/utils/index.js',
    make: cloudinary,
    secret: plainSecret,
    bodies: 'text',
    believes(delivery, secret) {
      cloudinarySdk.config({ api_secret: secret })
      return cloudinarySdk.utils.verifyNotificationSignature(
        text(delivery),
        Number(delivery.headers['x-cld-timestamp']),
        delivery.headers['x-cld-signature'] ?? '',
      )
    },
    sign(body, secret, at) {
      const seconds = Math.floor(at.getTime() / 1000)
      const made = cloudinarySdk.utils.webhook_signature(String(body), seconds, { api_secret: secret })
      return { 'x-cld-timestamp': String(seconds), 'x-cld-signature': made }
    },
  },
  {
    evidence: 'npm:retell-sdk@5.66.1:lib/webhook_auth.js',
    make: retell,
    secret: plainSecret,
    bodies: 'text',
    believes: (delivery, secret) =>
      Retell.verify(text(delivery), secret, delivery.headers['x-retell-signature'] ?? ''),
    sign: async (body, secret) => ({ 'x-retell-signature': await Retell.sign(String(body), secret) }),
  },
  {
    evidence: 'npm:hook0-client@1.1.0:dist/signature.js',
    make: hook0,
    secret: plainSecret,
    bodies: 'bytes',
    believes: ({ headers, body }, secret) =>
      verifyHook0(headers['x-hook0-signature'] ?? '', Buffer.from(body), new Headers(headers), secret, 300),
  },
  {
    evidence: 'npm:@hookdeck/sdk@0.4.0:webhooks/helpers.js',
    make: hookdeck,
    secret: plainSecret,
    bodies: 'text',
    believes: async (delivery, signingSecret) =>
      (await verifyHookdeck({ headers: { ...delivery.headers }, rawBody: text(delivery), signingSecret }))
        .isValidSignature,
  },
  {
    evidence: 'npm:webflow-api@3.3.4:wrapper/WebhooksClient.js',
    make: webflow,
    secret: plainSecret,
    bodies: 'text',
    believes: (delivery, secret) =>
      new WebflowClient({ accessToken: 'x' }).webhooks.verifySignature({
        headers: { ...delivery.headers },
        body: text(delivery),
        secret,
      }),
  },
  {
    evidence: 'npm:livekit-server-sdk@2.19.2:dist/AccessToken.js',
    make: livekit,
    secret: plainSecret,
    bodies: 'bytes',
    async sign(body, secret) {
      const token = new AccessToken('key', secret)
      token.sha256 = createHash('sha256').update(body).digest('base64')
      return { authorization: await token.toJwt() }
    },
  },
  {
    evidence: 'npm:messagebird@4.0.1:lib/webhook-signature-jwt.js',
    make: (options) => messagebird({ ...options, url: URL_SIGNED }),
    secret: plainSecret,
    bodies: 'bytes',
    believes: ({ headers, body }, secret) =>
      messagebirdSdk.verify(
        URL_SIGNED,
        Buffer.from(body),
        headers['messagebird-signature-jwt'] ?? '',
        createSecretKey(Buffer.from(secret)),
      ),
  },
])
