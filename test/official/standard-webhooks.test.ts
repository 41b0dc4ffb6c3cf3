import Anthropic from '@anthropic-ai/sdk'
import { verifyWebhook } from '@clerk/backend/webhooks'
import DodoPayments from 'dodopayments'
import OpenAI from 'openai'
import { validateWebhook } from 'replicate'
import { Resend } from 'resend'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import {
  anthropic,
  bigcommerce,
  clerk,
  dodopayments,
  openai,
  polar,
  replicate,
  resend,
  supabaseAuthHooks,
  svix,
} from '../../src/sources/index.ts'
import { base64Secret, type Proof, plainSecret, prove, text } from './prove.ts'

/* Providers that follow Standard Webhooks or Svix, against their own code. */

const whsec = base64Secret.map((key) => `whsec_${key}`)

/** Signs by a library of Standard Webhooks or Svix. */
function standardHeaders(
  prefix: 'webhook' | 'svix',
  key: (secret: string) => string,
): NonNullable<Proof['sign']> {
  return (body, secret, at) => ({
    [`${prefix}-id`]: 'msg_1',
    [`${prefix}-timestamp`]: String(Math.floor(at.getTime() / 1000)),
    [`${prefix}-signature`]: new StandardWebhook(key(secret)).sign('msg_1', at, body),
  })
}

const asIs = (secret: string): string => secret
const toBase64 = (secret: string): string => Buffer.from(secret).toString('base64')

prove([
  {
    evidence: 'npm:svix@1.99.1',
    make: svix,
    secret: whsec,
    bodies: 'json',
    believes: (delivery, secret) => new SvixWebhook(secret).verify(text(delivery), delivery.headers),
    sign: (body, secret, at) => ({
      'svix-id': 'msg_1',
      'svix-timestamp': String(Math.floor(at.getTime() / 1000)),
      'svix-signature': new SvixWebhook(secret).sign('msg_1', at, body),
    }),
  },
  {
    evidence: 'npm:@clerk/backend@3.20.1: verifyWebhook',
    make: clerk,
    secret: whsec,
    bodies: 'json',
    believes: ({ method, headers, body }, secret) =>
      verifyWebhook(new Request('https://example.com', { method, headers, body: Buffer.from(body) }), {
        signingSecret: secret,
      }),
    sign: standardHeaders('svix', asIs),
  },
  {
    evidence: 'npm:resend@6.37.0: webhooks.verify',
    make: resend,
    secret: whsec,
    bodies: 'json',
    believes: (delivery, secret) => {
      const { headers } = delivery
      return new Resend('re_x').webhooks.verify({
        payload: text(delivery),
        headers: {
          id: headers['svix-id'] ?? '',
          timestamp: headers['svix-timestamp'] ?? '',
          signature: headers['svix-signature'] ?? '',
        },
        webhookSecret: secret,
      })
    },
    sign: standardHeaders('svix', asIs),
  },
  {
    evidence: 'npm:openai@6.49.0: webhooks.verifySignature',
    make: openai,
    secret: whsec,
    bodies: 'text',
    believes: (delivery, secret) =>
      new OpenAI({ apiKey: 'x' }).webhooks.verifySignature(text(delivery), delivery.headers, secret),
    sign: standardHeaders('webhook', asIs),
  },
  {
    evidence: 'npm:@anthropic-ai/sdk@1.8.0: beta.webhooks.unwrap',
    make: anthropic,
    secret: whsec,
    bodies: 'json',
    believes: (delivery, secret) =>
      new Anthropic({ apiKey: 'x' }).beta.webhooks.unwrap(text(delivery), {
        headers: delivery.headers,
        key: secret,
      }),
    sign: standardHeaders('webhook', asIs),
  },
  {
    evidence: 'npm:dodopayments@2.52.0: webhooks.unwrap',
    make: dodopayments,
    secret: whsec,
    bodies: 'json',
    believes: (delivery, secret) =>
      new DodoPayments({ bearerToken: 'x' }).webhooks.unwrap(text(delivery), {
        headers: delivery.headers,
        key: secret,
      }),
    sign: standardHeaders('webhook', asIs),
  },
  {
    evidence: 'npm:replicate@1.4.0: validateWebhook',
    make: replicate,
    secret: whsec,
    bodies: 'json',
    believes: (delivery, secret) => {
      const { headers } = delivery
      return validateWebhook({
        id: headers['webhook-id'] ?? '',
        timestamp: headers['webhook-timestamp'] ?? '',
        signature: headers['webhook-signature'] ?? '',
        body: text(delivery),
        secret,
      })
    },
    sign: standardHeaders('webhook', asIs),
  },
  {
    evidence:
      'npm:@polar-sh/sdk@0.49.0:src/webhooks.ts: gives the text in base64 to npm:standardwebhooks@1.1.1',
    make: polar,
    secret: plainSecret,
    bodies: 'json',
    believes: (delivery, secret) =>
      new StandardWebhook(toBase64(secret)).verify(text(delivery), delivery.headers),
    sign: standardHeaders('webhook', toBase64),
  },
  {
    evidence: 'github.com/bigcommerce/docs: gives the client secret in base64 to npm:standardwebhooks@1.1.1',
    make: bigcommerce,
    secret: plainSecret,
    bodies: 'json',
    believes: (delivery, secret) =>
      new StandardWebhook(toBase64(secret)).verify(text(delivery), delivery.headers),
    sign: standardHeaders('webhook', toBase64),
  },
  {
    evidence: 'github.com/supabase/supabase: gives what follows v1,whsec_ to npm:standardwebhooks@1.1.1',
    make: supabaseAuthHooks,
    secret: base64Secret.map((key) => `v1,whsec_${key}`),
    bodies: 'json',
    believes: (delivery, secret) =>
      new StandardWebhook(secret.replace('v1,whsec_', '')).verify(text(delivery), delivery.headers),
    sign: standardHeaders('webhook', (secret) => secret.replace('v1,whsec_', '')),
  },
])
