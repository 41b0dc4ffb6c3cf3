import { describe, expect, expectTypeOf, test } from 'vitest'
import { hookonce } from './hookonce.ts'
import { inline } from './inline/index.ts'
import { memoryKeys } from './keys/index.ts'
import { github, shopify, stripe } from './sources/index.ts'

/* Registrations that can be checked without a ledger: no ledger is opened. */

type Sdk =
  | { type: 'invoice.paid'; data: { object: { amount_paid: number } } }
  | { type: 'invoice.voided'; data: { object: { voided_at: number } } }
  | { type: 'customer.created'; data: { object: { email: string } } }

function given(lines: unknown[] = []) {
  const warn = (fields: object, message: string) => void lines.push([message, fields])
  return hookonce({
    database: 'postgres://never.used:1/x',
    logger: { info: () => undefined, warn, error: () => undefined },
    sources: {
      stripe: stripe({ secret: 'whsec_x' }),
      typed: stripe<Sdk>({ secret: 'whsec_x' }),
      github: github({ secret: 'x' }),
      shopify: shopify<{ 'orders/paid': { total_price: string } }>({ secret: 'x' }),
    },
  })
}

describe('the event of a handler', () => {
  test('has the types of the name that it is registered for', () => {
    const hooks = given()
    hooks.on('typed', 'invoice.paid', (event) => {
      expectTypeOf(event.type).toEqualTypeOf<'invoice.paid'>()
      expectTypeOf(event.object.amount_paid).toEqualTypeOf<number>()
      // @ts-expect-error: a paid invoice is not voided
      event.object.voided_at
    })
    hooks.on('typed', ['invoice.voided', 'customer.created'], (event) => {
      expectTypeOf(event.type).toEqualTypeOf<'invoice.voided' | 'customer.created'>()
      if (event.type === 'customer.created') expectTypeOf(event.object.email).toEqualTypeOf<string>()
    })
    hooks.on('typed', 'invoice.*', (event) => {
      expectTypeOf(event.type).toEqualTypeOf<'invoice.paid' | 'invoice.voided'>()
    })
    hooks.on('typed', '*', (event) => expectTypeOf(event.type).toEqualTypeOf<Sdk['type']>())
    hooks.on('shopify', 'orders/paid', ({ object }) =>
      expectTypeOf(object.total_price).toEqualTypeOf<string>(),
    )
    hooks.inline('typed', ({ type }) => expectTypeOf(type).toEqualTypeOf<Sdk['type']>(), {
      store: memoryKeys(),
    })
  })

  test('has the same types in `filter` and `ordered`', () => {
    given().on('typed', 'invoice.paid', () => undefined, {
      filter: ({ object }) => object.amount_paid > 0,
      // @ts-expect-error: a paid invoice has no e-mail address
      ordered: ({ object }) => object.email,
    })
  })

  test('of a type that the types of the SDK do not have does not compile', () => {
    // @ts-expect-error: the type is misspelt
    given().on('typed', 'invoice.payed', () => undefined)
  })

  test('of a provider without types of an SDK has the common fields, under any name', () => {
    const hooks = given()
    hooks.on('stripe', 'invoice.paid', (event) => {
      expectTypeOf(event.type).toEqualTypeOf<'invoice.paid'>()
      expectTypeOf(event.object.id).toEqualTypeOf<string>()
    })
    hooks.on('github', 'brand_new.event', ({ payload }) =>
      expectTypeOf(payload.action).toEqualTypeOf<string | undefined>(),
    )
  })
})

describe('a type that the catalogue does not know', () => {
  test('is a warning at its registration', () => {
    const lines: unknown[] = []
    given(lines).on('stripe', ['invoice.payed', 'invoice.paid'], () => undefined)
    expect(lines).toEqual([
      [
        `.on('stripe', 'invoice.payed', 'invoice.paid'): no event type of stripe is named "invoice.payed" (did you mean "invoice.paid"?)`,
        { detail: expect.stringContaining('newer than this version') },
      ],
    ])
  })

  test('is a warning for inline sources too', () => {
    const lines: unknown[] = []
    given(lines).inline('github', () => undefined, { store: memoryKeys(), types: ['pull_request'] })
    expect(lines).toEqual([[expect.stringContaining('did you mean "pull_request.*"'), expect.anything()]])
  })

  test('is a warning of the process without hookonce()', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    inline(shopify({ secret: 'x' }), () => undefined, { store: memoryKeys(), types: ['order/paid'] })
    expect(String(await warned)).toContain('did you mean "orders/paid"')
  })

  test('is no warning if it is known, or matches anything', () => {
    const lines: unknown[] = []
    const hooks = given(lines)
    for (const type of ['*', 'invoice.*', 'invoice.paid']) hooks.on('stripe', type, () => undefined)
    expect(lines).toEqual([])
  })
})
