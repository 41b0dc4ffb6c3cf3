export { type GitHubEvent, type GitHubEventType, github } from './catalogue/github.ts'
export {
  type LemonSqueezyEvent,
  type LemonSqueezyEventType,
  type LemonSqueezyObject,
  lemonsqueezy,
} from './catalogue/lemonsqueezy.ts'
export { type ShopifyPayload, type ShopifyTopic, shopify } from './catalogue/shopify.ts'
export { type StandardWebhooksEvent, standardWebhooks } from './catalogue/standard-webhooks.ts'
export { type StripeEvent, type StripeEventType, type StripeObject, stripe } from './catalogue/stripe.ts'
export type { Delivery, Identified, Refusal, Source, Verified } from './contract.ts'
export { type CustomOptions, custom } from './custom.ts'
export type { Locator, ProviderDescription } from './description.ts'
export type { Secret, SourceOptions } from './options.ts'
export { type Sample, type SigningSource, sign } from './sign.ts'
