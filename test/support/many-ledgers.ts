import type { Options } from '../../src/index.ts'

/**
 * With HOOKONCE_TEST_LEDGERS=3, tests run with three additional ledgers. The tenant of the tests
 * lives in the schema `hookonce`, which the tests read.
 */
export function manyLedgers(): Pick<Options, 'ledgers'> {
  const count = Number(process.env.HOOKONCE_TEST_LEDGERS ?? 0)
  if (count === 0) return {}
  return { ledgers: { count, also: ['hookonce'], tenants: { default: 'hookonce' } } }
}
