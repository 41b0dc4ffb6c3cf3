import { hash } from './hash.ts'

/*
 * Many ledgers are schemas named `hookonce_0`, `hookonce_1` and so on. The first is the home
 * ledger: it records in which ledger each tenant lives.
 */

export function ledgerNames(schema: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${schema}_${at}`)
}

/**
 * The ledger of a tenant that no ledger knows yet. This is only the first choice: it is recorded,
 * and the record is authoritative. So another number of ledgers moves no tenant.
 */
export function hashedLedger(tenant: string, names: readonly string[]): string {
  const number = Number.parseInt(hash('sha256', tenant, 'hex').slice(0, 12), 16)
  const name = names[number % names.length]
  if (name === undefined) throw new Error('the list of ledgers is empty')
  return name
}

/** Several ledgers: the checked option `ledgers`. */
export interface LedgersOptions {
  readonly count: number
  readonly also: readonly string[]
  readonly placement: Readonly<Record<string, string>>
  readonly tenants: Readonly<Record<string, string>>
}

/** The names of all ledgers: the home ledger first. */
export function allLedgerNames(schema: string, { count, also }: LedgersOptions): string[] {
  return [...ledgerNames(schema, count), ...also]
}
