import { provider } from '../provider.ts'

export const wechatPay = provider({
  provider: 'wechat-pay',
  about: {
    name: 'WeChat Pay (APIv3)',
    category: 'payments',
    confidence: 'documented',
    evidence: [
      'https://pay.weixin.qq.com/doc/global/v3/en/4012357149 (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    notes: [
      'The secret is the public key of WeChat Pay. List several during a rotation: `Wechatpay-Serial` is not read.',
      'The payment is encrypted in `resource`. It is recorded as received; decrypt it in a handler with your APIv3 key.',
      'WeChat Pay sometimes sends wrong signatures on purpose, to see that they are rejected.',
      'Fifteen retries over a day.',
      'For WeChat Pay only. Messages of Official Accounts and Mini Programs are signed differently and are not covered.',
    ],
  },
  signature: {
    algorithm: 'rsa-sha256',
    header: 'wechatpay-signature',
    encoding: 'base64',
    content: '{timestamp}\n{header:wechatpay-nonce}\n{body}\n',
  },
  timestamp: { at: 'header:wechatpay-timestamp', unit: 's' },
  event: {
    key: 'json:id',
    type: 'json:event_type',
    occurredAt: { at: 'json:create_time', unit: 'iso' },
    object: 'json:resource',
  },
  retryWindowHours: 48,
  acceptedStatus: 200,
  acceptedBody: '{"code":"SUCCESS","message":"OK"}',
  acceptedHeaders: { 'content-type': 'application/json' },
})
