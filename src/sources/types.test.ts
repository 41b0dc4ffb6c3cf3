import { describe, expectTypeOf, it } from 'vitest'
import {
  custom,
  type GitHubEvent,
  type GitHubEventType,
  github,
  type Identified,
  type Refusal,
  type ShopifyPayload,
  type Source,
  type StripeEvent,
  type StripeEventType,
  type StripeObject,
  shopify,
  stripe,
} from './index.ts'
import type { EventOf } from './typed-events.ts'

/** Checked by the compiler: the source determines the types that a handler receives. */
describe('the types of a source', () => {
  it('flow from stripe()', () => {
    const source = stripe({ secret: 'whsec_x' })
    expectTypeOf(source).toExtend<Source<StripeEvent, StripeObject, StripeEventType>>()
    expectTypeOf<ReturnType<typeof source.identify>>().toEqualTypeOf<
      Identified<StripeEvent, StripeObject> | Refusal
    >()
    expectTypeOf<StripeObject['id']>().toBeString()
    expectTypeOf<'invoice.paid'>().toExtend<StripeEventType>()
    expectTypeOf<'any.other'>().toExtend<StripeEventType>()
  })

  it('flow from github()', () => {
    const source = github({ secret: 'x' })
    expectTypeOf(source).toExtend<Source<GitHubEvent, GitHubEvent, GitHubEventType>>()
    expectTypeOf<GitHubEvent['action']>().toEqualTypeOf<string | undefined>()
  })

  it('are given to custom()', () => {
    interface Order {
      readonly id: string
    }
    const make = () =>
      custom<{ order: Order }, Order, 'order.made' | 'order.sent'>({
        secret: 'x',
        signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
        event: { key: 'json:order.id', object: 'json:order' },
      })
    expectTypeOf(make).returns.toExtend<Source<{ order: Order }, Order, 'order.made' | 'order.sent'>>()
  })

  it('accept a value of process.env, but require the secret', () => {
    expectTypeOf<{ secret: string | undefined }>().toExtend<Parameters<typeof stripe>[0]>()
    expectTypeOf<{ secret: readonly (string | undefined)[] }>().toExtend<Parameters<typeof stripe>[0]>()
    expectTypeOf<Record<never, never>>().not.toExtend<Parameters<typeof stripe>[0]>()
  })

  it('know the payload of each event, if they are given', () => {
    type Sdk =
      | { type: 'order.made'; data: { object: { made: number } } }
      | { type: 'order.sent'; data: { object: { sent: string } } }
      | { type: 'user.left'; related_object: { id: string } }
    const source = stripe<Sdk>({ secret: 'whsec_x' })
    expectTypeOf<EventOf<typeof source, 'order.made'>['object']>().toEqualTypeOf<{ made: number }>()
    expectTypeOf<EventOf<typeof source, 'user.left'>['object']>().toEqualTypeOf<{ id: string }>()
    expectTypeOf<EventOf<typeof source, 'order.*'>['type']>().toEqualTypeOf<'order.made' | 'order.sent'>()
    expectTypeOf<EventOf<typeof source>['type']>().toEqualTypeOf<Sdk['type']>()
    expectTypeOf<ReturnType<typeof stripe>>().toExtend<Source<StripeEvent, StripeObject, StripeEventType>>()
  })

  it('make names of event and action, for GitHub', () => {
    interface Payloads {
      push: { ref: string }
      issues: { action: 'opened'; issue: 1 } | { action: 'closed' | 'reopened'; issue: 2 }
      repository_dispatch: { action: string; branch: string }
    }
    const source = github<Payloads>({ secret: 'x' })
    type Types = EventOf<typeof source>['type']
    expectTypeOf<Types>().toEqualTypeOf<
      'push' | 'issues.opened' | 'issues.closed' | 'issues.reopened' | `repository_dispatch.${string}`
    >()
    expectTypeOf<EventOf<typeof source, 'push'>['payload']>().toEqualTypeOf<{ ref: string }>()
    expectTypeOf<EventOf<typeof source, 'issues.closed'>['payload']['issue']>().toEqualTypeOf<2>()
    expectTypeOf<EventOf<typeof source, 'issues.*'>['payload']['issue']>().toEqualTypeOf<1 | 2>()
    expectTypeOf<
      EventOf<typeof source, 'repository_dispatch.deploy'>['payload']['branch']
    >().toEqualTypeOf<string>()
  })

  it('may cover some topics only, for Shopify', () => {
    const source = shopify<{ 'orders/paid': { id: number; total_price: string } }>({ secret: 'x' })
    expectTypeOf<EventOf<typeof source, 'orders/paid'>['object']['total_price']>().toBeString()
    expectTypeOf<EventOf<typeof source, 'orders/create'>['object']>().toEqualTypeOf<ShopifyPayload>()
  })

  it('let any source be handled as a Source', () => {
    const sources: Record<string, Source> = {
      stripe: stripe({ secret: 'x' }),
      github: github({ secret: 'x' }),
    }
    expectTypeOf(sources.stripe).toEqualTypeOf<Source | undefined>()
  })
})
