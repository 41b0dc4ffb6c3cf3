// The events of the seeded senders. A kind is one event type of one source; `weight` is its share.
// In a body, {key} {object} {type} {number} {seconds} and {iso} stand for values of the event.

const stripe = (object, rest) =>
  `{"id":"{key}","object":"event","api_version":"2026-09-30","created":{seconds},"livemode":true,"type":"{type}","pending_webhooks":1,` +
  `"request":{"id":"req_{number}","idempotency_key":null},"data":{"object":{"id":"{object}","object":"${object}",` +
  `"customer":"cus_{number}","currency":"eur",${rest}}},"sequence":90071992547{number}}`

const invoice = stripe(
  'invoice',
  '"number":"HK-{number}","amount_due":12900,"amount_paid":12900,"attempt_count":1,"billing_reason":"subscription_cycle","customer_email":"customer-{number}@shop.example","lines":{"object":"list","data":[{"id":"il_{number}","amount":12900,"description":"Team plan, 12 seats","period":{"start":{seconds},"end":{seconds}}}],"has_more":false},"status":"paid","subscription":"sub_{number}"',
)
const charge = stripe(
  'charge',
  '"amount":4250,"captured":true,"paid":true,"payment_method_details":{"card":{"brand":"visa","last4":"4242","country":"DE"},"type":"card"},"receipt_url":"https://pay.stripe.com/receipts/{number}"',
)
const subscription = stripe(
  'subscription',
  '"status":"active","cancel_at_period_end":false,"current_period_end":{seconds},"items":{"data":[{"id":"si_{number}","price":{"id":"price_team","unit_amount":1075},"quantity":12}]}',
)
const payout = stripe(
  'payout',
  '"amount":1830025,"arrival_date":{seconds},"method":"standard","status":"paid"',
)

const github = (rest) =>
  `{${rest},"repository":{"id":731904112,"name":"storefront","full_name":"acme/storefront","private":true,` +
  `"html_url":"https://github.com/acme/storefront","default_branch":"main"},"sender":{"login":"octo-ann","id":5834211,"type":"User"}}`

const order =
  '{"id":{object},"admin_graphql_api_id":"gid://shopify/Order/{object}","name":"#{number}","currency":"EUR","total_price":"184.90","financial_status":"paid","fulfillment_status":null,"created_at":"{iso}","updated_at":"{iso}","customer":{"id":6710{number},"email":"customer-{number}@shop.example","first_name":"Kim","last_name":"Example"},"line_items":[{"id":1446{number},"title":"Linen shirt, blue","quantity":2,"price":"59.95","sku":"LS-BL-M"},{"id":1447{number},"title":"Canvas bag","quantity":1,"price":"65.00","sku":"CB-01"}],"shipping_address":{"city":"Utrecht","zip":"3511","country":"NL"}}'

const slack =
  '{"token":"none","team_id":"T01ACME","api_app_id":"A01HOOKS","type":"event_callback","event_id":"{key}","event_time":{seconds},"event":{"type":"{type}","channel":"{object}","user":"U{number}","text":"Is the deploy of {number} done?","ts":"{seconds}.000200"}}'

const STRIPE =
  'content-type: application/json; charset=utf-8\nuser-agent: Stripe/1.0 (+https://stripe.com/docs/webhooks)\nstripe-signature: t={seconds},v1={hash}'
const GITHUB =
  'content-type: application/json\nuser-agent: GitHub-Hookshot/7c31f05\nx-github-delivery: {key}\nx-github-event: {event}\nx-hub-signature-256: sha256={hash}'
const SHOPIFY =
  'content-type: application/json\nuser-agent: Shopify-Captain-Hook\nx-shopify-topic: {type}\nx-shopify-webhook-id: {key}\nx-shopify-shop-domain: acme.myshopify.com\nx-shopify-triggered-at: {iso}'
const SLACK =
  'content-type: application/json\nuser-agent: Slackbot 1.0 (+https://api.slack.com/robots)\nx-slack-request-timestamp: {seconds}\nx-slack-signature: v0={hash}'

/** @type {import('./kinds.mjs').Kind[]} */
export const KINDS = [
  ...[
    { type: 'invoice.paid', weight: 9, object: 'in_1', body: invoice, subscribers: ['billing', 'analytics'] },
    { type: 'invoice.payment_failed', weight: 2, object: 'in_1', body: invoice, subscribers: ['billing'] },
    { type: 'charge.succeeded', weight: 10, object: 'ch_3', body: charge, subscribers: ['billing'] },
    { type: 'charge.refunded', weight: 1, object: 'ch_3', body: charge, subscribers: ['billing'] },
    {
      type: 'customer.subscription.updated',
      weight: 6,
      object: 'sub_1',
      body: subscription,
      subscribers: ['billing', 'crm'],
    },
    {
      type: 'customer.subscription.created',
      weight: 2,
      object: 'sub_1',
      body: subscription,
      subscribers: ['crm'],
    },
    { type: 'payout.paid', weight: 1, object: 'po_1', body: payout, subscribers: ['billing'] },
  ].map((kind) => ({ ...kind, source: 'stripe', key: 'evt_1', headers: STRIPE })),
  ...[
    {
      type: 'push',
      weight: 6,
      object: '',
      body: github(
        '"ref":"refs/heads/main","before":"{hash}","after":"{object}","commits":[{"id":"{object}","message":"Retry the payout only with its own key","timestamp":"{iso}","author":{"name":"Ann","username":"octo-ann"}}]',
      ),
    },
    {
      type: 'pull_request.opened',
      weight: 3,
      object: '18',
      body: github(
        '"action":"opened","number":{number},"pull_request":{"id":{object},"state":"open","title":"Show stock per warehouse","draft":false,"additions":214,"deletions":38,"updated_at":"{iso}"}',
      ),
    },
    {
      type: 'workflow_run.completed',
      weight: 6,
      object: '97',
      body: github(
        '"action":"completed","workflow_run":{"id":{object},"name":"CI","head_branch":"main","status":"completed","conclusion":"success","run_number":{number},"updated_at":"{iso}"}',
      ),
    },
  ].map((kind) => ({ ...kind, source: 'github', key: '', headers: GITHUB, subscribers: ['ci'] })),
  ...[
    { type: 'orders/create', weight: 6, subscribers: ['fulfilment', 'crm'] },
    { type: 'orders/paid', weight: 5, subscribers: ['fulfilment'] },
    { type: 'orders/fulfilled', weight: 2, subscribers: ['crm'] },
  ].map((kind) => ({ ...kind, source: 'shopify', key: '', object: '58', body: order, headers: SHOPIFY })),
  ...[
    { type: 'app_mention', weight: 3, object: 'C0' },
    { type: 'message', weight: 2, object: 'C0' },
  ].map((kind) => ({
    ...kind,
    source: 'slack',
    key: 'Ev0',
    body: slack,
    headers: SLACK,
    subscribers: ['support-bot'],
  })),
]

/** Each source with its subscribers and their types. The types in KINDS match these patterns. */
export const SUBSCRIBERS = [
  { source: 'stripe', name: 'billing', pattern: 'invoice.*, charge.*, customer.subscription.*, payout.*' },
  { source: 'stripe', name: 'analytics', pattern: 'invoice.paid' },
  { source: 'stripe', name: 'crm', pattern: 'customer.subscription.*' },
  { source: 'github', name: 'ci', pattern: '*' },
  { source: 'shopify', name: 'fulfilment', pattern: 'orders/create, orders/paid' },
  { source: 'shopify', name: 'crm', pattern: 'orders/create, orders/fulfilled' },
  { source: 'slack', name: 'support-bot', pattern: '*' },
]

const frames = (...lines) => lines.map((line) => `at ${line}`).join('\n')

/**
 * The errors of failed jobs, by subscriber. `{id}` differs from job to job, like ids in real
 * messages.
 */
export const ERRORS = [
  {
    subscriber: 'billing',
    text: `TypeError: Cannot read properties of undefined (reading 'address')`,
    stack: frames(
      'addressOf (file:///app/src/invoices/address.js:18:31)',
      'invoicePaid (file:///app/src/invoices/paid.js:41:22)',
    ),
    isFinal: false,
  },
  { subscriber: 'billing', text: 'no customer cus_{id} in this account', stack: null, isFinal: true },
  {
    subscriber: 'analytics',
    text: 'Error: connect ECONNREFUSED 10.0.4.17:5432',
    stack: null,
    isFinal: false,
  },
  {
    subscriber: 'crm',
    text: 'answered 503: upstream connect error or disconnect/reset before headers',
    stack: null,
    isFinal: false,
  },
  {
    subscriber: 'crm',
    text: 'answered 422: {"error":"contact {id} was merged into another contact"}',
    stack: null,
    isFinal: true,
  },
  {
    subscriber: 'fulfilment',
    text: 'answered 409: {"error":"order {id} is already on the way"}',
    stack: null,
    isFinal: true,
  },
  { subscriber: 'ci', text: 'no answer within 10000 ms', stack: null, isFinal: false },
  {
    subscriber: 'support-bot',
    text: 'answered 500: {"message":"internal error","trace":"{id}"}',
    stack: null,
    isFinal: false,
  },
]
