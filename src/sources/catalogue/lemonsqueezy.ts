import { provider } from '../provider.ts'

export const lemonsqueezy = provider<LemonSqueezyEvent, LemonSqueezyObject, LemonSqueezyEventType>({
  provider: 'lemonsqueezy',
  about: {
    name: 'Lemon Squeezy',
    category: 'billing',
    confidence: 'documented',
    evidence: [
      'https://docs.lemonsqueezy.com/help/webhooks/signing-requests',
      'https://docs.lemonsqueezy.com/help/webhooks/webhook-requests',
    ],
    notes: [
      'No event id is sent. The key is made of event name, kind and id of the resource, and its `updated_at`. That date has a resolution of one second: of two equal events of one resource in one second, the first is kept and the other is reported as a mismatch.',
      'The event name is read from the signed body, not from the unsigned header `X-Event-Name`.',
      'Any status other than 200 is retried.',
      'Retries end after some three minutes, but people can resend from the dashboard at any time; hookonce assumes a week.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-signature', encoding: 'hex' },
  event: {
    key: {
      hash: ['json:meta.event_name', 'json:data.type', 'json:data.id', 'json:data.attributes.updated_at'],
    },
    type: 'json:meta.event_name',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:data.attributes.updated_at', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
  acceptedStatus: 200,
})

/** A JSON:API resource: an order, a subscription, … */
export interface LemonSqueezyObject {
  readonly type: string
  readonly id: string
  readonly attributes: Readonly<Record<string, unknown>> & { readonly updated_at: string }
  readonly relationships?: Readonly<Record<string, unknown>>
}

export interface LemonSqueezyEvent {
  readonly meta: {
    readonly event_name: LemonSqueezyEventType
    /** The data that you passed to the checkout. */
    readonly custom_data?: Readonly<Record<string, unknown>>
    readonly test_mode?: boolean
  }
  readonly data: LemonSqueezyObject
}

/** Documented types, for completion. Any other type is allowed. */
export type LemonSqueezyEventType =
  | 'license_key_created'
  | 'license_key_updated'
  | 'order_created'
  | 'order_refunded'
  | 'subscription_cancelled'
  | 'subscription_created'
  | 'subscription_expired'
  | 'subscription_paused'
  | 'subscription_payment_failed'
  | 'subscription_payment_recovered'
  | 'subscription_payment_success'
  | 'subscription_resumed'
  | 'subscription_unpaused'
  | 'subscription_updated'
  | (string & {})
