import { describe, expectTypeOf, it } from 'vitest'
import {
  custom,
  type GitHubEvent,
  type GitHubEventType,
  github,
  type Identified,
  type Refusal,
  type Source,
  type StripeEvent,
  type StripeEventType,
  type StripeObject,
  stripe,
} from './index.ts'

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

  it('let any source be handled as a Source', () => {
    const sources: Record<string, Source> = {
      stripe: stripe({ secret: 'x' }),
      github: github({ secret: 'x' }),
    }
    expectTypeOf(sources.stripe).toEqualTypeOf<Source | undefined>()
  })
})
