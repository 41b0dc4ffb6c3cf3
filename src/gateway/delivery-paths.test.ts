import { expect, test } from 'vitest'
import { stripe } from '../sources/index.ts'
import { deliveryPaths } from './delivery-paths.ts'

const secret = 'whsec_of_a_test'
const sourceAt = deliveryPaths({
  stripe: stripe({ secret }),
  'acme/stripe': stripe({ secret, tenant: 'acme' }),
  paypal: stripe({ secret, tenant: 'b o' }),
})

test.each([
  ['/in/stripe', 'stripe'],
  ['/in/stripe/', 'stripe'],
  ['/in/default/stripe', 'stripe'],
  ['/in/acme/stripe', 'acme/stripe'],
  ['/in/paypal', 'paypal'],
  ['/in/b%20o/paypal', 'paypal'],
  // The path must name the right tenant.
  ['/in/bolt/stripe', 'bolt/stripe'],
  ['/in/acme%2Fstripe', 'acme/stripe'],
  ['/in/none', 'none'],
  ['/in/%E0%A4%A', '%E0%A4%A'],
])('%s is a delivery to %s', (path, source) => {
  expect(sourceAt(path)).toBe(source)
})

test.each(['/', '/in', '/in/', '/in/a/b/c', '/out/stripe', '/healthz', '/in//stripe'])(
  '%s is not a delivery',
  (path) => {
    expect(sourceAt(path)).toBeUndefined()
  },
)
