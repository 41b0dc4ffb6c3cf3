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
export type { Delivery, HandshakeAnswer, Identified, Refusal, Source, Verified } from './contract.ts'
export { type CustomOptions, custom } from './custom.ts'
export type { ProviderDescription } from './description.ts'
export type { Secret, SecretOwner, SourceOptions } from './options.ts'
export type { Locator } from './places.ts'
export type { Provider } from './provider.ts'
export { type Sample, type SignedDelivery, type SigningSource, sign } from './sign.ts'
