import { validateSignature } from '@line/bot-sdk'
import { LinearWebhookClient } from '@linear/sdk/webhooks'
import { signWebhookPayload, verifyWebhookSignature } from '@notionhq/client'
import { assertValidSignature, encodeSignatureHeader } from '@sanity/webhook'
import { WorkOS } from '@workos-inc/node'
import { verifySignature as verifyGoCardless } from 'gocardless-nodejs/webhooks'
import { SignatureValidator } from 'mollie-api-typescript'
import Pusher from 'pusher'
import Razorpay from 'razorpay'
import { plainSecret, prove, text } from '../../../test/support/official.ts'
import { gocardless, line, linear, mollie, notion, pusher, razorpay, sanity, workos } from '../index.ts'

/* Providers with a scheme of their own, against their own code. */

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
    evidence: 'npm:pusher@5.3.4: webhook',
    make: pusher,
    secret: plainSecret,
    bodies: 'json',
    believes: (delivery, secret) =>
      new Pusher({ appId: '1', key: 'k', secret, cluster: 'eu' })
        .webhook({ headers: { ...delivery.headers, 'x-pusher-key': 'k' }, rawBody: text(delivery) })
        .isValid(),
  },
])
