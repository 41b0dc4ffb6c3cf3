import type { Options } from '../../src/index.ts'

/**
 * With HOOKONCE_TEST_LEDGERS=3, tests run with three ledgers more than one. The tenant of the tests
 * lives in the schema `hookonce`, in which they look.
 */
export function manyLedgers(): Pick<Options, 'ledgers'> {
  const count = Number(process.env.HOOKONCE_TEST_LEDGERS ?? 0)
  if (count === 0) return {}
  return { ledgers: { count, also: ['hookonce'], tenants: { default: 'hookonce' } } }
}
