import { createRequire } from 'node:module'
import { Paddle } from '@paddle/paddle-node-sdk'
import { ApiVersion, shopifyApi } from '@shopify/shopify-api'
import '@shopify/shopify-api/adapters/web-api'
import { Cashfree, CFEnvironment } from 'cashfree-pg'
import { verifySignature as verifyGoCardless } from 'gocardless-nodejs/webhooks'
import Lithic from 'lithic'
import ModernTreasury from 'modern-treasury'
import { SignatureValidator } from 'mollie-api-typescript'
import Orb from 'orb-billing'
import Razorpay from 'razorpay'
import { WebhooksHelper } from 'square'
import {
  cashfree,
  easypost,
  gocardless,
  lithic,
  modernTreasury,
  mollie,
  orb,
  paddle,
  razorpay,
  shopify,
  square,
} from '../../src/sources/index.ts'
import { base64Secret, type Headers, plainSecret, prove, text } from './prove.ts'

/* Providers of payments and commerce with their own scheme, against their own code. */

const require = createRequire(import.meta.url)

const SQUARE_URL = 'https://example.com/in/square?a=1'

interface EasyPostSdk {
  readonly Utils: { validateWebhook(body: Buffer, headers: Headers, secret: string): unknown }
}

// Its types declare no client.
const EasyPost: new (key: string) => EasyPostSdk = require('@easypost/api')

const modernTreasurySdk = () => new ModernTreasury({ organizationID: 'x', apiKey: 'x' })

const shopifySdk = (apiSecretKey: string) =>
  shopifyApi({
    apiKey: 'x',
    apiSecretKey,
    hostName: 'example.com',
    apiVersion: ApiVersion.January26,
    isEmbeddedApp: false,
  })

/** Further headers that Shopify sends, and that its library requires. */
const SHOPIFY_HEADERS = {
  'x-shopify-api-version': ApiVersion.January26,
  'x-shopify-shop-domain': 'example.myshopify.com',
  'x-shopify-topic': 'orders/paid',
}

prove([
  {
    evidence: 'npm:mollie-api-typescript@1.12.28: SignatureValidator',
    make: mollie,
    secret: plainSecret,
    bodies: 'text',
    believes: (delivery, secret) =>
      SignatureValidator.validate(text(delivery), secret, delivery.headers['x-mollie-signature']),
    sign: async (body, secret) => ({
      'x-mollie-signature': `sha256=${await SignatureValidator.createSignature(String(body), secret)}`,
    }),
  },
  {
    evidence: 'npm:razorpay@2.9.8: validateWebhookSignature',
    make: razorpay,
    secret: plainSecret,
    bodies: 'text',
    believes: (delivery, secret) =>
      Razorpay.validateWebhookSignature(
        text(delivery),
        delivery.headers['x-razorpay-signature'] ?? '',
        secret,
      ),
  },
  {
    evidence: 'npm:gocardless-nodejs@10.1.2: verifySignature',
    make: gocardless,
    secret: plainSecret,
    bodies: 'bytes',
    believes: ({ headers, body }, secret) =>
      verifyGoCardless(Buffer.from(body), secret, headers['webhook-signature'] ?? ''),
  },
  {
    // It accepts no empty body, and its tolerance is five seconds.
    evidence: 'npm:@paddle/paddle-node-sdk@3.10.0: isSignatureValid',
    make: paddle,
    secret: plainSecret,
    bodies: 'json',
    believes: (delivery, secret) =>
      new Paddle('key').webhooks.isSignatureValid(
        text(delivery),
        secret,
        delivery.headers['paddle-signature'] ?? '',
      ),
  },
  {
    evidence: 'npm:orb-billing@6.11.0:resources/webhooks.js',
    make: orb,
    secret: plainSecret,
    bodies: 'text',
    believes: (delivery, secret) =>
      new Orb({ apiKey: 'x' }).webhooks.verifySignature(text(delivery), delivery.headers, secret),
  },
  {
    evidence: 'npm:modern-treasury@3.3.0:resources/webhooks.js',
    make: modernTreasury,
    secret: plainSecret,
    bodies: 'text',
    believes: (delivery, key) =>
      modernTreasurySdk().webhooks.validateSignature(text(delivery), delivery.headers, { key }),
    sign: (body, key) => ({
      'x-signature': modernTreasurySdk().webhooks.getSignature(String(body), { key }),
    }),
  },
  {
    evidence: 'npm:lithic@0.145.0:resources/webhooks.js',
    make: lithic,
    secret: base64Secret,
    bodies: 'json',
    believes: (delivery, secret) =>
      new Lithic({ apiKey: 'x' }).webhooks.verifySignature(text(delivery), delivery.headers, secret),
  },
  {
    evidence: 'npm:cashfree-pg@6.0.6:dist/api.js',
    make: cashfree,
    secret: plainSecret,
    bodies: 'json',
    believes: (delivery, secret) =>
      new Cashfree(CFEnvironment.SANDBOX, 'x', secret).PGVerifyWebhookSignature(
        delivery.headers['x-webhook-signature'] ?? '',
        text(delivery),
        delivery.headers['x-webhook-timestamp'] ?? '',
      ),
  },
  {
    evidence: 'npm:square@46.0.0: WebhooksHelper.verifySignature',
    make: (options) => square({ ...options, url: SQUARE_URL }),
    secret: plainSecret,
    bodies: 'text',
    believes: (delivery, signatureKey) =>
      WebhooksHelper.verifySignature({
        requestBody: text(delivery),
        signatureHeader: delivery.headers['x-square-hmacsha256-signature'] ?? '',
        signatureKey,
        notificationUrl: SQUARE_URL,
      }),
  },
  {
    evidence: 'npm:@shopify/shopify-api@12.3.0: webhooks.validate',
    make: shopify,
    secret: plainSecret,
    bodies: 'json',
    async believes(delivery, secret) {
      const headers = { ...SHOPIFY_HEADERS, ...delivery.headers }
      const rawRequest = new Request('https://example.com/in/shopify', { method: 'POST', headers })
      return (await shopifySdk(secret).webhooks.validate({ rawBody: text(delivery), rawRequest })).valid
    },
  },
  {
    evidence: 'npm:@easypost/api@8.9.0:src/utils/util.js',
    make: easypost,
    secret: plainSecret,
    bodies: 'json',
    believes: ({ headers, body }, secret) =>
      new EasyPost('x').Utils.validateWebhook(Buffer.from(body), headers, secret),
  },
])
