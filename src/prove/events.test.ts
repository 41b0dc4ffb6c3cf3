import { expect, test } from 'vitest'
import { githubEventTypes } from '../sources/event-types/github.ts'
import { shopifyTopics } from '../sources/event-types/shopify.ts'
import { stripeEventTypes } from '../sources/event-types/stripe.ts'
import { fixtureOf } from '../sources/fixtures/index.ts'
import { shopify, stripe } from '../sources/index.ts'
import { bodyText, defaultRelatedType, type EventMaker, freshPair, signedDelivery } from './events.ts'

const maker = (type?: string): EventMaker => ({
  source: stripe({ secret: 'whsec_prove' }),
  url: '/',
  type,
  recorded: [],
})

const LISTS: Readonly<Record<string, readonly string[]>> = {
  stripe: stripeEventTypes,
  shopify: shopifyTopics,
  github: githubEventTypes,
}

test.each(Object.entries(LISTS))('every related type of %s is in its list', (provider, types) => {
  const related = types.map((type) => fixtureOf(provider)?.relatedType?.(type))
  expect(related.filter((type) => type !== undefined && !types.includes(type))).toEqual([])
})

test('a provider without a list of types has no related type', () => {
  const others = ['lemonsqueezy', 'paddle', 'sendgrid', 'slack', 'twilio']
  expect(others.filter((provider) => fixtureOf(provider)?.relatedType !== undefined)).toEqual([])
})

test('a later event of the same object is chosen, if there is one', () => {
  expect(defaultRelatedType(maker())).toBe('invoice.updated')
  expect(defaultRelatedType(maker('payment_intent.succeeded'))).toBeUndefined()
  expect(defaultRelatedType(maker('invoice.updated'))).toBeUndefined()
  expect(defaultRelatedType(maker('charge.dispute.created'))).toBeUndefined()
  expect(defaultRelatedType(maker('customer.subscription.created'))).toBe('customer.subscription.updated')
  const orders: EventMaker = { ...maker(), source: shopify({ secret: 'prove' }) }
  expect(defaultRelatedType(orders)).toBe('orders/updated')
  const recorded = { text: '{}', key: undefined, objectId: undefined, type: 'invoice.paid' }
  expect(defaultRelatedType({ ...maker(), recorded: [recorded] })).toBeUndefined()
})

test('a related event that was chosen by default shows the later state of its object', () => {
  const [older, newer] = freshPair(maker(), { type: 'invoice.updated', isDefault: true })
  const bodies = [older, newer].map((event) => JSON.parse(bodyText(signedDelivery(maker(), event))))
  expect(bodies.map(({ type, data }) => [type, data.object.status, data.object.amount_paid])).toEqual([
    ['invoice.paid', 'paid', 2000],
    ['invoice.updated', 'paid', 2001],
  ])
  expect(bodies[0].data.object.id).toBe(bodies[1].data.object.id)
})
