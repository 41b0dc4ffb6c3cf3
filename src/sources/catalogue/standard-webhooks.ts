import type { ProviderDescription } from '../description.ts'
import { provider } from '../provider.ts'

/**
 * `whsec_<base64>`, with a few exceptions: some senders use the text itself, some another prefix.
 */
interface SecretForm {
  readonly secretEncoding?: 'utf8' | 'base64'
  readonly secretPrefix?: string
}

/**
 * The signature of every sender that follows the specification. Svix's own senders name the headers
 * `svix-*`.
 */
export function standardSignature(
  prefix: 'webhook' | 'svix',
  { secretEncoding = 'base64', secretPrefix = 'whsec_' }: SecretForm = {},
): Pick<ProviderDescription, 'signature' | 'timestamp'> {
  return {
    signature: {
      algorithm: 'hmac-sha256',
      header: `${prefix}-signature`,
      encoding: 'base64',
      format: { kind: 'list', itemSeparator: ' ', fieldSeparator: ',', signatureField: 'v1' },
      content: `{header:${prefix}-id}.{timestamp}.{body}`,
      // A secret that is used as text may begin with any characters, so a prefix does not show its
      // kind.
      ...(secretEncoding === 'base64' && {
        asymmetric: { signatureField: 'v1a', publicPrefix: 'whpk_', privatePrefix: 'whsk_' },
      }),
      secretEncoding,
      secretPrefix,
    },
    timestamp: { at: `header:${prefix}-timestamp`, unit: 's', toleranceSeconds: 300 },
  }
}

export const standardWebhooks = provider<StandardWebhooksEvent, unknown, string>({
  provider: 'standard-webhooks',
  about: {
    name: 'Standard Webhooks',
    category: 'spec',
    confidence: 'verified',
    evidence: [
      'github.com/standard-webhooks/standard-webhooks@b2fa7b8:spec/standard-webhooks.md',
      'npm:standardwebhooks@1.1.1:dist/index.js',
      'github.com/svix/svix-webhooks:server/svix-server/src/worker.rs (the vector of v1a)',
    ],
    notes: [
      'The secret is `whsec_<base64>`. The decoded bytes are the key, and the prefix may be missing.',
      '`webhook-signature: v1,<base64>[ v1a,<base64>]`, several of each; `v1a` is Ed25519, and its secret is the public key, `whpk_<base64>`.',
      'The key of the event, `webhook-id`, is signed.',
      '`type`, `timestamp` and `data` in the body are recommended, not required.',
      'The example in the specification retries for 75 hours, and senders may differ; hookonce assumes a week.',
    ],
  },
  ...standardSignature('webhook'),
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
