import { expect, test } from 'vitest'
import { stripe } from '../sources/catalogue/stripe.ts'
import { firstEventCommand } from './first-event.ts'

const secret = 'whsec_dGhlIHNlY3JldCBvZiB0aGlzIHRlc3QuLi4uLi4uLi4='
const route = (source: string, ...types: string[]) => ({ source, types, destination: 'app' })
const config = {
  routes: [route('payments, live', 'charge.*', 'invoice.*'), route('acme/stripe', 'customer.*.deleted')],
  sources: {
    'payments, live': stripe({ secret }),
    'acme/stripe': stripe({ secret, tenant: 'acme' }),
  },
}
const given = { config, file: 'hookonce.json', deliveryUrl: 'http://127.0.0.1:8080', tenant: undefined }

test('the command names the source, the file and the port of the gateway', () => {
  expect(firstEventCommand({ ...given, file: "kim's/hookonce.json" })).toBe(
    `npx hookonce trigger 'payments, live' --config 'kim'\\''s/hookonce.json' --url 'http://127.0.0.1:8080/in/payments%2C%20live'`,
  )
})

test('a caller of one tenant gets a source of this tenant', () => {
  expect(firstEventCommand({ ...given, tenant: 'acme' })).toBe(
    'npx hookonce trigger acme/stripe customer.created.deleted --config hookonce.json --url http://127.0.0.1:8080/in/acme/stripe',
  )
  expect(firstEventCommand({ ...given, tenant: 'other' })).toBeUndefined()
})

test.each([
  [[], ' --config'],
  [['*'], ' --config'],
  [['charge.*', 'plan.updated'], ' plan.updated --config'],
  [['customer.subscription.*'], ' customer.subscription.created --config'],
])('with destinations for %j, the command sends a wanted type', (types, rest) => {
  const routes = types.length === 0 ? [] : [route('acme/stripe', ...types)]
  expect(firstEventCommand({ ...given, config: { ...config, routes }, tenant: 'acme' })).toContain(
    `trigger acme/stripe${rest} `,
  )
})
