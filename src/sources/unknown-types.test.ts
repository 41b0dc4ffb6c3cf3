import { describe, expect, test } from 'vitest'
import { clerk, custom, github, openai, resend, shopify, stripe } from './index.ts'
import { unknownTypes } from './unknown-types.ts'

const WHSEC = `whsec_${Buffer.alloc(32).toString('base64')}`

const sources = {
  stripe: stripe({ secret: 'whsec_x' }),
  github: github({ secret: 'x' }),
  shopify: shopify({ secret: 'x' }),
  clerk: clerk({ secret: WHSEC }),
  openai: openai({ secret: WHSEC }),
  resend: resend({ secret: WHSEC }),
}
const messages = (source: keyof typeof sources, ...patterns: string[]): string[] =>
  unknownTypes(sources[source], patterns, '.on()').map(({ message }) => message)

describe('a type that the provider does not document', () => {
  test.each([
    ['stripe', 'invoice.payed', 'invoice.paid'],
    ['stripe', 'invoices.paid', 'invoice.paid'],
    ['stripe', 'payment_intent.suceeded', 'payment_intent.succeeded'],
    ['stripe', 'invoice', 'invoice.*'],
    ['stripe', 'invoices.*', 'invoice.*'],
    ['github', 'pull_request', 'pull_request.*'],
    ['github', 'pull_requests.opened', 'pull_request.opened'],
    ['shopify', 'order/paid', 'orders/paid'],
    ['shopify', 'orders/cancel', 'orders/cancelled'],
    ['clerk', 'users.created', 'user.created'],
    ['openai', 'batch.canceled', 'batch.cancelled'],
    ['resend', 'email.bounce', 'email.bounced'],
  ] as const)('%s: %s means %s', (source, given, meant) => {
    const [message] = messages(source, given)
    expect(message).toContain(`"${given}" (did you mean "${meant}"?)`)
  })

  test('gets no suggestion if nothing is close', () => {
    expect(messages('stripe', 'zzzzzz')).toEqual(['.on(): no event type of stripe is named "zzzzzz"'])
  })

  test('among several types, only the unknown ones are reported', () => {
    expect(messages('github', 'push', 'pusch', 'issues.*')).toHaveLength(1)
  })
})

test.each([
  ['stripe', ['invoice.paid', 'invoice.*', '*', '*.created', 'v2.core.account.created', 'v1.*']],
  ['github', ['push', 'pull_request.opened', 'repository_dispatch.deploy', 'repository_dispatch.d*']],
  ['shopify', ['orders/paid', 'orders/*', '*/create', 'shop/redact', 'Product/update']],
  ['clerk', ['user.created', 'organization.*']],
  ['openai', ['response.completed', 'batch.*']],
  ['resend', ['email.bounced', 'inbox.thread.*']],
] as const)('%s: documented types cause no warning', (source, patterns) => {
  expect(messages(source, ...patterns)).toEqual([])
})

test('a source without a list causes no warning', () => {
  const signature = { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' } as const
  const event = { key: 'json:id', type: 'json:type' } as const
  const unlisted = custom({ secret: 'x', signature, event })
  expect(unknownTypes(unlisted, ['anything'], '.on()')).toEqual([])
  const listed = custom({ secret: 'x', signature, event: { ...event, types: ['order.made'] } })
  expect(unknownTypes(listed, ['order.maid'], '.on()')).toHaveLength(1)
})
