import { acquireCases } from './acquire-cases.ts'
import type { Capability, ContractCase } from './contract-case.ts'
import { holderCases } from './holder-cases.ts'
import { pledgeCases } from './pledge-cases.ts'

export type { Capability, ContractCase } from './contract-case.ts'

/** Every case that a store with these capabilities must pass. */
export function keyStoreContract(has: readonly Capability[]): ContractCase[] {
  return [...acquireCases, ...holderCases, ...pledgeCases].filter(
    ({ needs }) => needs === undefined || has.includes(needs),
  )
}
