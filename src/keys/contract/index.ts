import { acquireCases } from './acquiring.ts'
import type { Capability, ContractCase } from './case.ts'
import { holdingCases } from './holding.ts'
import { pledgeCases } from './pledging.ts'

export type { Capability, ContractCase } from './case.ts'

/** Every case that a store with these capabilities must pass. */
export function keyStoreContract(has: readonly Capability[]): ContractCase[] {
  return [...acquireCases, ...holdingCases, ...pledgeCases].filter(
    ({ needs }) => needs === undefined || has.includes(needs),
  )
}
