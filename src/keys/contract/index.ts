import { acquireCases, type ContractCase } from './acquiring.ts'
import { holdingCases } from './holding.ts'

export { applies, type ContractCase } from './acquiring.ts'

export const keyStoreContract: readonly ContractCase[] = [...acquireCases, ...holdingCases]
