import { provider } from '../provider.ts'

export const strapi = provider({
  provider: 'strapi',
  about: {
    name: 'Strapi',
    category: 'cms',
    confidence: 'documented',
    evidence: ['github.com/strapi/documentation:docusaurus/docs/cms/backend-customization/webhooks.md'],
    notes: [
      'Nothing is signed. Give the webhook an `Authorization` header. The secret is its value, exactly as entered there.',
      'Events have no id; the key is made of event, date, model and entry.',
      'There are no retries: a delivery that is not accepted is lost.',
    ],
  },
  signature: { algorithm: 'token', header: 'authorization' },
  event: {
    key: {
      hash: ['json:event', 'json:createdAt'],
      // Events of the media library have no entry.
      optional: ['json:model', 'json:entry.id', 'json:media.id', 'json:entry.documentId'],
    },
    type: ['header:x-strapi-event', 'json:event'],
    objectId: ['json:entry.id', 'json:media.id', 'json:entry.documentId'],
    occurredAt: { at: 'json:createdAt', unit: 'iso' },
    object: ['json:entry', 'json:media'],
  },
})
