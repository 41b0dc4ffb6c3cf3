import type { ProviderDescription } from '../description.ts'
import { shopifyTopics } from '../event-types/shopify.ts'
import type { SourceOptions } from '../options.ts'
import { typedProvider } from '../provider.ts'
import type { SigningSource } from '../sign.ts'
import type { ListedType } from '../typed-events.ts'

export const shopify: ShopifyProvider = typedProvider({
  provider: 'shopify',
  about: {
    name: 'Shopify',
    category: 'commerce',
    confidence: 'verified',
    evidence: [
      'npm:@shopify/shopify-api@13.1.0:dist/esm/lib/webhooks/validate.mjs',
      'https://shopify.dev/docs/apps/build/webhooks/verify-deliveries.md',
      'https://shopify.dev/changelog/updates-to-webhook-retry-mechanism',
      'https://shopify.dev/docs/apps/build/events/delivery-structure.md',
      'github.com/hookdeck/webhook-samples@84a3957 (captured requests)',
    ],
    notes: [
      "The key is `X-Shopify-Webhook-Id`: the same on every retry and not shared between subscriptions. `X-Shopify-Event-Id` is shared by all subscriptions that match a merchant's event, so two subscriptions at one URL would lose each other's deliveries.",
      'The signature covers the body only: id, topic and date are headers, which TLS protects but the secret does not.',
      'It retries for 4 hours since 2024-09, and for 48 hours before; hookonce assumes the longer time.',
      'The newer "Events" deliveries have headers named `shopify-*`. Their key is `Shopify-Webhook-Id`. Their type is topic and action: `Product/update`.',
    ],
  },
  apiKeys: {
    prefixes: ['shpat_', 'shpca_', 'shppa_'],
    advice: 'copy the client secret of the app',
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: ['x-shopify-hmac-sha256', 'shopify-hmac-sha256'],
    encoding: 'base64',
  },
  event: {
    key: ['header:x-shopify-webhook-id', 'header:shopify-webhook-id'],
    type: {
      join: [['header:x-shopify-topic', 'header:shopify-topic'], 'header:shopify-action'],
      separator: '/',
    },
    objectId: [
      'json:id',
      'json:admin_graphql_api_id',
      // Topics that wrap their resource.
      'json:order_edit.order_id',
      'json:fulfillment_order.id',
      'json:submitted_fulfillment_order.id',
      'json:original_fulfillment_order.id',
      'json:product_listing.product_id',
      'json:scheduled_product_listing.product_id',
      'json:collection_listing.collection_id',
      'json:app_subscription.admin_graphql_api_id',
      'json:app_purchase_one_time.admin_graphql_api_id',
      'json:company_contact.admin_graphql_api_id',
      'json:product.id',
      'json:customer.id',
      // Topics that name the id after its kind.
      'json:inventory_item_id',
      'json:customer_id',
      'json:order_id',
      'json:subscription_contract_id',
      'json:admin_graphql_api_customer_kept_id',
      // Events that name their resource in a header.
      'header:shopify-resource-id',
      'json:query_variables.productId',
      'json:query_variables.orderId',
      'json:query_variables.customerId',
      'json:shop_id',
    ],
    occurredAt: { at: ['header:x-shopify-triggered-at', 'header:shopify-triggered-at'], unit: 'iso' },
    version: { at: 'json:updated_at', unit: 'iso' },
    types: shopifyTopics,
  },
  retryWindowHours: 48,
})

/** The resource itself, without an envelope. Deletions contain little more than `id`. */
export interface ShopifyPayload {
  readonly id?: number
  readonly admin_graphql_api_id?: string
  readonly [field: string]: unknown
}

/** The topics of this version's list, for completion. Any other topic is allowed. */
export type ShopifyTopic = ListedType<typeof shopifyTopics> | (string & {})

/**
 * With a type that maps topics to payloads, each event of these topics has the payload of its topic:
 * `shopify<{ 'orders/paid': Order }>({ secret })`. Shopify publishes no such map.
 */
export interface ShopifyProvider {
  (options: SourceOptions): ShopifySource
  <Payloads extends object>(
    options: SourceOptions,
  ): SigningSource<ShopifyPayload, ShopifyPayload, ShopifyTopic, ShopifyShapes<Payloads>>
  // Repeated, because `ReturnType<typeof shopify>` uses the last signature.
  (options: SourceOptions): ShopifySource
  readonly description: ProviderDescription
}

type ShopifySource = SigningSource<ShopifyPayload, ShopifyPayload, ShopifyTopic>

type ShopifyShapes<Payloads> = {
  readonly [Topic in keyof Payloads]: {
    readonly payload: Payloads[Topic]
    readonly object: Payloads[Topic]
  }
}
