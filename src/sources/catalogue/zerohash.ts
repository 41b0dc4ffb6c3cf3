import { provider } from '../provider.ts'

export const zerohash = provider({
  provider: 'zerohash',
  about: {
    name: 'Zero Hash',
    category: 'fintech',
    confidence: 'documented',
    evidence: [
      'https://docs.zerohash.com/reference/webhook-security (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'that `X-Zh-Hook-Notification-Id` is the same at each attempt, and that a retry is signed again: an old date is rejected',
      'the retries; hookonce assumes a week',
    ],
    notes: [
      'The secret comes from your contact at Zero Hash. It is not that of the API.',
      'The older header without a date, and the RSA variants, are not read.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-zh-hook-signature',
    encoding: 'hex',
    content: '{body}{timestamp}',
  },
  timestamp: { at: 'header:x-zh-hook-timestamp', unit: 'ms' },
  event: {
    key: 'header:x-zh-hook-notification-id',
    type: 'header:x-zh-hook-payload-type',
  },
})
