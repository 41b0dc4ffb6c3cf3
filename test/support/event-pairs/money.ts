import type { EventPairs } from './pair.ts'

const AT = '2024-05-01T10:00:00Z'
const LATER = '2024-05-01T10:00:01Z'

const adyen = (item: object): object => ({ notificationItems: [{ NotificationRequestItem: item }] })
const bigcommerce = {
  scope: 'store/product/updated',
  hash: 'h',
  created_at: 1,
  data: { type: 'product', id: 1 },
}

const braintree = (kind: string): { bt_signature: string; bt_payload: string } => {
  const xml = `<notification><kind>${kind}</kind><timestamp>${AT}</timestamp></notification>`
  return { bt_signature: 'public|s', bt_payload: `${Buffer.from(xml).toString('base64')}\n` }
}

/** A token of Plaid, whose signature is not checked here. */
const plaid = (iat: number, request_body_sha256 = 'h'): Record<string, string> => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return { 'plaid-verification': [{ alg: 'ES256' }, { iat, request_body_sha256 }, {}].map(part).join('.') }
}

/** Providers of payments, shops and shipping. */
export const moneyPairs: EventPairs = {
  adyen: {
    AUTHORISATION: {
      event: adyen({ pspReference: 'p', eventCode: 'AUTHORISATION', success: 'true' }),
      other: adyen({ pspReference: 'q' }),
      attempt: adyen({ eventDate: LATER }),
    },
  },
  bigcommerce: {
    'two changes with one hash': {
      event: bigcommerce,
      headers: { 'webhook-id': '1' },
      otherHeaders: { 'webhook-id': '2' },
      attemptHeaders: { 'webhook-timestamp': '2' },
    },
    'without the header': { event: bigcommerce, other: { hash: 'i' } },
  },
  braintree: {
    'a dispute, then its end within one second': {
      event: braintree('dispute_opened'),
      other: braintree('dispute_won'),
      isForm: true,
    },
    'the payload without its last line break': {
      event: braintree('check'),
      other: braintree('dispute_won'),
      attempt: { bt_payload: braintree('check').bt_payload.trimEnd() },
      isForm: true,
    },
  },
  cashfree: {
    PAYMENT_SUCCESS_WEBHOOK: {
      event: {
        type: 'PAYMENT_SUCCESS_WEBHOOK',
        data: { order: { order_id: 'o' }, payment: { cf_payment_id: 1 } },
      },
      other: { data: { payment: { cf_payment_id: 2 } } },
      attempt: { event_time: LATER },
    },
  },
  gumroad: {
    sale: { event: { resource_name: 'sale', sale_id: '1' }, other: { sale_id: '2' } },
    refund: { event: { resource_name: 'sale', sale_id: '1' }, other: { resource_name: 'refund' } },
  },
  lemonsqueezy: {
    order_created: {
      event: {
        meta: { event_name: 'order_created' },
        data: { type: 'orders', id: '1', attributes: { updated_at: AT } },
      },
      other: { data: { id: '2' } },
    },
    subscription_updated: {
      event: {
        meta: { event_name: 'subscription_updated' },
        data: { type: 'subscriptions', id: '1', attributes: { updated_at: AT } },
      },
      other: { data: { attributes: { updated_at: LATER } } },
    },
  },
  onfleet: {
    taskStarted: { event: { triggerId: 0, taskId: 't', time: 1 }, other: { time: 2 } },
  },
  paystack: {
    'charge.success': {
      event: { event: 'charge.success', data: { id: 1, reference: 'r' } },
      other: { data: { id: 2, reference: 's' } },
    },
  },
  picqer: {
    'orders.created': {
      event: { idhook: 1, event: 'orders.created', event_triggered_at: AT, data: { idorder: 1 } },
      other: { data: { idorder: 2 } },
    },
  },
  plaid: {
    'two events with one body': {
      event: { webhook_type: 'ITEM', webhook_code: 'ERROR', item_id: 'i' },
      headers: plaid(1),
      otherHeaders: plaid(2),
    },
    'two events within one second': {
      event: { webhook_type: 'ITEM', webhook_code: 'ERROR', item_id: 'i' },
      headers: plaid(1, 'a'),
      otherHeaders: plaid(1, 'b'),
    },
  },
  quickbooks: {
    'a change': {
      event: {
        eventNotifications: [
          {
            realmId: '1',
            dataChangeEvent: {
              entities: [{ name: 'Customer', id: '1', operation: 'Update', lastUpdated: AT }],
            },
          },
        ],
      },
      other: { eventNotifications: [{ dataChangeEvent: { entities: [{ lastUpdated: LATER }] } }] },
    },
    'a CloudEvent': {
      event: [{ specversion: '1.0', id: 'e', source: 'intuit.1', type: 'qbo.customer.created.v1', time: AT }],
      other: [{ id: 'f' }],
    },
  },
  recharge: {
    'two topics with one body': {
      event: { subscription: { id: 1, updated_at: AT } },
      headers: { 'x-recharge-topic': 'subscription/updated' },
      otherHeaders: { 'x-recharge-topic': 'subscription/cancelled' },
      attemptHeaders: { 'x-recharge-webhook-signature': 't=2,v1=aa' },
    },
  },
  revolut: {
    ORDER_COMPLETED: { event: { event: 'ORDER_COMPLETED', order_id: 'o' }, other: { order_id: 'p' } },
    ORDER_PAYMENT_DECLINED: {
      event: { event: 'ORDER_PAYMENT_DECLINED', order_id: 'o' },
      retryIsNew: 'an order may be declined several times, and the body has no date',
    },
    TransactionStateChanged: {
      event: {
        event: 'TransactionStateChanged',
        timestamp: AT,
        data: { id: 't', old_state: 'a', new_state: 'b' },
      },
      other: { timestamp: LATER, data: { new_state: 'c' } },
    },
    'two changes within one second': {
      event: { event: 'TransactionStateChanged', timestamp: AT, data: { id: 't', new_state: 'b' } },
      other: { data: { new_state: 'c' } },
    },
  },
  sendcloud: {
    parcel_status_changed: {
      event: { action: 'parcel_status_changed', timestamp: 1, parcel: { id: 1 } },
      other: { timestamp: 2 },
    },
  },
  shipstation: {
    ORDER_NOTIFY: {
      event: { resource_type: 'ORDER_NOTIFY', resource_url: 'https://a.test/?importBatch=1' },
      other: { resource_url: 'https://a.test/?importBatch=2' },
    },
  },
  shippo: {
    track_updated: {
      event: { event: 'track_updated', data: { tracking_number: 't', tracking_status: { object_id: 'a' } } },
      other: { data: { tracking_status: { object_id: 'b' } } },
    },
  },
  shopify: {
    'a webhook': {
      event: { id: 1 },
      headers: { 'x-shopify-webhook-id': 'a', 'x-shopify-topic': 'orders/create' },
      otherHeaders: { 'x-shopify-webhook-id': 'b' },
      attemptHeaders: { 'x-shopify-event-id': 'e' },
    },
    'an event with the newer headers': {
      event: {
        topic: 'Product',
        action: 'update',
        query_variables: { productId: 'gid://shopify/Product/1' },
      },
      headers: { 'shopify-webhook-id': 'a', 'shopify-topic': 'Product', 'shopify-action': 'update' },
      otherHeaders: { 'shopify-webhook-id': 'b' },
    },
  },
  wise: {
    'a transfer': {
      event: {
        subscription_id: 's',
        event_type: 'transfers#state-change',
        sent_at: AT,
        data: { resource: { id: 1 } },
      },
      headers: { 'x-delivery-id': 'a' },
      otherHeaders: { 'x-delivery-id': 'b' },
    },
  },
  xero: {
    UPDATE: {
      event: {
        events: [
          { tenantId: 't', resourceId: 'r', eventType: 'UPDATE', eventCategory: 'INVOICE', eventDateUtc: AT },
        ],
      },
      other: { events: [{ eventDateUtc: LATER }] },
      attempt: { entropy: 'x' },
    },
  },
}
