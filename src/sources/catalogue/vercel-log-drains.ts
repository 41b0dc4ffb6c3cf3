import { provider } from '../provider.ts'

export const vercelLogDrains = provider({
  provider: 'vercel-log-drains',
  about: {
    name: 'Vercel Log Drains',
    category: 'hosting',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where id and deployment of a log record are'],
    notes: [
      'The URL check is not signed. A request without a signature is treated as the check: it is answered and not recorded. Therefore give the drain a secret.',
      'Records are sent as an array or one per line. Both are accepted.',
      'Retries are not documented; hookonce assumes a week.',
    ],
  },
  signature: { algorithm: 'hmac-sha1', header: 'x-vercel-signature', encoding: 'hex' },
  batch: 'lines',
  event: {
    key: 'item:id',
    type: 'item:source',
    objectId: 'item:deploymentId',
    occurredAt: { at: 'item:timestamp', unit: 'ms' },
  },
  handshake: [
    {
      method: 'POST',
      when: { 'header:x-vercel-signature': false },
      signed: false,
      reply: { headers: { 'x-vercel-verify': '{setting:verify}' } },
    },
  ],
  settings: { verify: 'the value of `x-vercel-verify` that the dashboard shows for the drain' },
  retryWindowHours: 7 * 24,
  acceptedStatus: 200,
  acceptedHeaders: { 'x-vercel-verify': '{setting:verify}' },
})
