import { provider } from '../provider.ts'

export const woocommerce = provider({
  provider: 'woocommerce',
  about: {
    name: 'WooCommerce',
    category: 'commerce',
    confidence: 'verified',
    evidence: [
      'github.com/woocommerce/woocommerce:plugins/woocommerce/includes/class-wc-webhook.php',
      'github.com/hookdeck/webhook-samples@84a3957 (captured requests)',
    ],
    unverified: ['which statuses it accepts as success'],
    notes: [
      'A secret with `&`, `<` or quotes is used as displayed on the page, not in its HTML encoding.',
      'There are no retries, and more than five failures in a row disable the webhook. A delivery that is not accepted is lost: compare with the shop regularly.',
      'The signature covers the body only: delivery id and topic are headers, which TLS protects but the secret does not.',
      'The ping at activation of a webhook is not signed. It is answered and not recorded.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-wc-webhook-signature', encoding: 'base64' },
  event: {
    key: 'header:x-wc-webhook-delivery-id',
    type: 'header:x-wc-webhook-topic',
    objectId: 'json:id',
    occurredAt: { at: 'json:date_modified_gmt', unit: 'iso' },
    version: { at: 'json:date_modified_gmt', unit: 'iso' },
  },
  handshake: [
    {
      method: 'POST',
      when: { 'form:webhook_id': true, 'header:x-wc-webhook-signature': false },
      signed: false,
    },
  ],
  answerWithinSeconds: 60,
})
