import type { WebhookEvent as ClerkEvent, UserJSON } from '@clerk/backend'
import type { EmitterWebhookEvent, EmitterWebhookEventName } from '@octokit/webhooks'
import type { EventPayloadMap, IssuesOpenedEvent, PushEvent } from '@octokit/webhooks-types'
import type { restResources } from '@shopify/shopify-api/rest/admin/2025-10'
import type OpenAI from 'openai'
import type { EmailBouncedEvent, WebhookEventPayload as ResendEvent } from 'resend'
import type Stripe from 'stripe'
import { expect, expectTypeOf, it } from 'vitest'
import { hookonce } from '../../src/index.ts'
import { clerkEventTypes } from '../../src/sources/event-types/clerk.ts'
import { openaiEventTypes } from '../../src/sources/event-types/openai.ts'
import { resendEventTypes } from '../../src/sources/event-types/resend.ts'
import { clerk, github, openai, resend, shopify, stripe } from '../../src/sources/index.ts'

/*
 * Handlers with the types of the providers' SDKs. types.test.ts compiles this file, which is the
 * proof. Running it shows that the calls match their types.
 */

/** The SDK has classes of resources. A payload has their fields, without their methods. */
type Order = Pick<InstanceType<(typeof restResources)['Order']>, 'id' | 'email' | 'total_price'>

type ByName = { [Name in EmitterWebhookEventName]: EmitterWebhookEvent<Name>['payload'] }

const WHSEC = `whsec_${Buffer.alloc(32).toString('base64')}`

const hooks = hookonce({
  database: 'postgres://never.used:1/x',
  sources: {
    stripe: stripe<Stripe.Event>({ secret: 'whsec_x' }),
    github: github<EventPayloadMap>({ secret: 'x' }),
    octokit: github<ByName>({ secret: 'x' }),
    shopify: shopify<{ 'orders/paid': Order }>({ secret: 'x' }),
    clerk: clerk<ClerkEvent>({ secret: WHSEC }),
    openai: openai<OpenAI.Webhooks.UnwrapWebhookEvent>({ secret: WHSEC }),
    resend: resend<ResendEvent>({ secret: WHSEC }),
    untyped: resend({ secret: WHSEC }),
  },
})

it('Stripe: an event has the object of its type', () => {
  hooks.on('stripe', 'invoice.paid', ({ object, payload }) => {
    expectTypeOf(object).toEqualTypeOf<Stripe.Invoice>()
    expectTypeOf(payload).toEqualTypeOf<Stripe.InvoicePaidEvent>()
  })
  hooks.on('stripe', ['charge.refunded', 'customer.created'], (event) => {
    if (event.type === 'customer.created') expectTypeOf(event.object).toEqualTypeOf<Stripe.Customer>()
    else expectTypeOf(event.object).toEqualTypeOf<Stripe.Charge>()
  })
  hooks.on('stripe', 'checkout.session.*', ({ object }) =>
    expectTypeOf(object).toEqualTypeOf<Stripe.Checkout.Session>(),
  )
  // @ts-expect-error: Stripe has no such type
  expect(() => hooks.on('stripe', 'invoice.payed', () => undefined)).not.toThrow()
})

it('GitHub: an event has the payload of its name and action', () => {
  hooks.on('github', 'issues.opened', ({ payload }) =>
    expectTypeOf(payload).toEqualTypeOf<IssuesOpenedEvent>(),
  )
  hooks.on('github', 'push', ({ payload }) => expectTypeOf(payload).toEqualTypeOf<PushEvent>())
  // @ts-expect-error: an issue is always sent with an action
  expect(() => hooks.on('github', 'issues', () => undefined)).not.toThrow()
})

it('GitHub: with the types of @octokit/webhooks', () => {
  hooks.on('octokit', 'issues.opened', ({ payload }) => {
    expectTypeOf(payload.action).toEqualTypeOf<'opened'>()
    expectTypeOf(payload.issue.number).toEqualTypeOf<number>()
  })
  hooks.on('octokit', 'push', ({ payload }) => expectTypeOf(payload.ref).toEqualTypeOf<string>())
})

it('Shopify: an event has the payload of its topic', () => {
  hooks.on('shopify', 'orders/paid', ({ object }) => expectTypeOf(object).toEqualTypeOf<Order>())
})

it('Clerk: an event has the data of its type, and the list is that of the SDK', () => {
  hooks.on('clerk', ['user.created', 'organization.deleted'], (event) => {
    if (event.type === 'user.created') expectTypeOf(event.object).toEqualTypeOf<UserJSON>()
    else expectTypeOf(event.object.deleted).toEqualTypeOf<boolean>()
  })
  // @ts-expect-error: Clerk has no such type
  expect(() => hooks.on('clerk', 'user.create', () => undefined)).not.toThrow()
  expectTypeOf<(typeof clerkEventTypes)[number]>().toEqualTypeOf<ClerkEvent['type']>()
  expect(clerkEventTypes).toContain('user.created')
})

it('OpenAI: an event has the data of its type, and the list is that of the SDK', () => {
  hooks.on('openai', 'realtime.call.incoming', ({ object }) =>
    expectTypeOf(object).toEqualTypeOf<OpenAI.Webhooks.RealtimeCallIncomingWebhookEvent['data']>(),
  )
  hooks.on('openai', 'batch.*', ({ payload }) =>
    expectTypeOf(payload.type).toEqualTypeOf<
      'batch.cancelled' | 'batch.completed' | 'batch.expired' | 'batch.failed'
    >(),
  )
  expectTypeOf<(typeof openaiEventTypes)[number]>().toEqualTypeOf<
    OpenAI.Webhooks.UnwrapWebhookEvent['type']
  >()
  expect(openaiEventTypes).toContain('batch.failed')
})

it('Resend: an event has the data of its type, and the list is that of the SDK', () => {
  hooks.on('resend', 'email.bounced', ({ object }) =>
    expectTypeOf(object).toEqualTypeOf<EmailBouncedEvent['data']>(),
  )
  // Without types of the SDK, any type compiles.
  hooks.on('untyped', 'email.new', ({ object }) => expectTypeOf(object).toBeUnknown())
  expectTypeOf<(typeof resendEventTypes)[number]>().toEqualTypeOf<ResendEvent['type']>()
  expect(resendEventTypes).toContain('email.bounced')
})
