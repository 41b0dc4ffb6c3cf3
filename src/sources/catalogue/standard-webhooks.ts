import { provider } from '../provider.ts'

/**
 * Standard Webhooks, from the specification (standard-webhooks/standard-webhooks@b2fa7b8, spec/) and its reference
 * library (npm:standardwebhooks@1.1.1).
 *
 * - The key is what `whsec_<base64>` holds, decoded; the prefix may be missing.
 * - `webhook-signature: v1,<base64>[ v1,<base64>]`; `v1a` (Ed25519) is skipped.
 * - The key of the event, `webhook-id`, is signed.
 * - `type`, `timestamp` and `data` in the body are recommended, not required.
 * - The specification's own example retries for 75 hours and leaves the rest to the sender: a week is counted on.
 */
export const standardWebhooks = provider<StandardWebhooksEvent, unknown, string>({
  provider: 'standard-webhooks',
  signature: {
    algorithm: 'hmac-sha256',
    header: 'webhook-signature',
    encoding: 'base64',
    format: { kind: 'list', itemSeparator: ' ', fieldSeparator: ',', signatureField: 'v1' },
    content: '{header:webhook-id}.{timestamp}.{body}',
    secretEncoding: 'base64',
    secretPrefix: 'whsec_',
  },
  timestamp: { at: 'header:webhook-timestamp', unit: 's', toleranceSeconds: 300 },
  event: {
    key: 'header:webhook-id',
    type: 'json:type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
})

export interface StandardWebhooksEvent {
  readonly type?: string
  /** ISO 8601. */
  readonly timestamp?: string
  readonly data?: unknown
  readonly [field: string]: unknown
}
