import type { ProviderDescription } from '../description.ts'
import { stripeEventTypes } from '../event-types/stripe.ts'
import type { SourceOptions } from '../options.ts'
import { typedProvider } from '../provider.ts'
import type { SigningSource } from '../sign.ts'
import type { ListedType } from '../typed-events.ts'

export const stripe: StripeProvider = typedProvider({
  provider: 'stripe',
  about: {
    name: 'Stripe',
    category: 'payments',
    confidence: 'verified',
    evidence: ['npm:stripe@23.1.0:esm/Webhooks.js', 'https://docs.stripe.com/webhooks'],
    unverified: ['resending for 30 days'],
    notes: [
      'The whole `whsec_…` text is the key; it is not decoded.',
      '`Stripe-Signature: t=…,v1=…[,v1=…]`: one v1 per live secret. v0 is for tests and is ignored.',
      'The SDK accepts future dates. In hookonce the tolerance applies in both directions.',
      'Thin events (`object: "v2.core.event"`) have `related_object` instead of `data.object`, and `created` as ISO text.',
      'It retries for 3 days, and people can resend for 30 days; hookonce assumes 30 days.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'stripe-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 's', toleranceSeconds: 300 },
  apiKeys: {
    prefixes: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'pk_live_', 'pk_test_'],
    advice: 'copy the signing secret of the webhook endpoint, which begins with whsec_',
  },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: ['json:data.object.id', 'json:related_object.id'],
    occurredAt: { at: 'json:created', unit: 's' },
    object: ['json:data.object', 'json:related_object'],
    types: stripeEventTypes,
  },
  retryWindowHours: 30 * 24,
})

/** The object that an event is about: an invoice, a charge, … */
export type StripeObject = Readonly<Record<string, unknown>> & { readonly id: string }

export interface StripeEvent {
  readonly id: string
  readonly object: string
  readonly type: StripeEventType
  /** A time in whole seconds, so it cannot order two events of the same second. */
  readonly created: number
  readonly livemode: boolean
  readonly api_version?: string | null
  /** The connected account, at Connect endpoints. */
  readonly account?: string
  readonly pending_webhooks?: number
  readonly request?: { readonly id: string | null; readonly idempotency_key: string | null } | null
  readonly data: {
    readonly object: StripeObject
    /** The previous values of the changed fields. Only in `*.updated` events. */
    readonly previous_attributes?: Readonly<Record<string, unknown>>
  }
}

/** The types of this version's list, for completion. Any other type is allowed. */
export type StripeEventType = ListedType<typeof stripeEventTypes> | (string & {})

/**
 * With the types of Stripe's SDK, each event has the object of its type, and an unknown type does
 * not compile: `stripe<Stripe.Event>({ secret })`.
 */
export interface StripeProvider {
  (options: SourceOptions): StripeSource
  <SdkEvent extends { readonly type: string }>(
    options: SourceOptions,
  ): SigningSource<SdkEvent, StripeObjectOf<SdkEvent>, SdkEvent['type'], StripeShapes<SdkEvent>>
  // Repeated, because `ReturnType<typeof stripe>` uses the last signature.
  (options: SourceOptions): StripeSource
  readonly description: ProviderDescription
}

type StripeSource = SigningSource<StripeEvent, StripeObject, StripeEventType>

type StripeShapes<SdkEvent extends { readonly type: string }> = {
  readonly [Member in SdkEvent as Member['type']]: {
    readonly payload: Member
    readonly object: StripeObjectOf<Member>
  }
}

/** Thin events have `related_object` instead of `data.object`. */
type StripeObjectOf<SdkEvent> = SdkEvent extends { readonly data: { readonly object: infer Subject } }
  ? Subject
  : SdkEvent extends { readonly related_object: infer Related }
    ? Related
    : unknown
