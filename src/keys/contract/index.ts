import { acquireCases, type Capability, type ContractCase } from './acquiring.ts'
import { holdingCases } from './holding.ts'

export type { Capability, ContractCase } from './acquiring.ts'

/** Every case that a store with these capabilities must pass. */
export function keyStoreContract(has: readonly Capability[]): ContractCase[] {
  return [...acquireCases, ...holdingCases].filter(({ needs }) => needs === undefined || has.includes(needs))
}
