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
    unverified: ['which statuses it takes for success'],
    notes: [
      'A secret with `&`, `<` or quotes is used as it reads on the page, not as HTML writes it.',
      'Nothing is retried; more than five failures in a row switch the webhook off. A delivery that was not taken is lost: compare with the shop at times.',
      'The signature covers the body only: delivery id and topic are headers that TLS protects, not the secret.',
      'The ping when a webhook is switched on is not signed; it is answered and not recorded.',
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
