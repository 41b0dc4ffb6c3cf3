import { allLedgerNames, type LedgersOptions, ledgerNames } from '../model/ledger-names.ts'
import { SCHEMA_NAME, SCHEMA_NAME_RULE } from '../model/schema-name.ts'
import { didYouMean } from './closest.ts'

export interface LedgersFault {
  readonly path: readonly string[]
  readonly message: string
}

/** Checks names against each other: each must be one of the ledgers. */
export function ledgersFaults(schema: string, ledgers: LedgersOptions): LedgersFault[] {
  const names = allLedgerNames(schema, ledgers)
  const faults: LedgersFault[] = []
  const last = names[ledgers.count - 1] ?? schema
  if (!SCHEMA_NAME.test(last)) faults.push({ path: ['count'], message: `"${last}": ${SCHEMA_NAME_RULE}` })
  for (const name of ledgers.also)
    if (ledgerNames(schema, ledgers.count).includes(name))
      faults.push({ path: ['also'], message: `"${name}" is already one of the ${ledgers.count} ledgers` })
  const require = (name: string, path: readonly string[]): void => {
    if (names.includes(name)) return
    const range = ledgers.count === 1 ? names[0] : `${names[0]} to ${names[ledgers.count - 1]}`
    const message = `no ledger is named "${name}"${didYouMean(name, names)}; there are ${[range, ...ledgers.also].join(', ')}`
    faults.push({ path, message })
  }
  for (const name of Object.keys(ledgers.placement)) require(name, ['placement', name])
  for (const [tenant, name] of Object.entries(ledgers.tenants)) require(name, ['tenants', tenant])
  const home = names[0]
  if (home !== undefined && home in ledgers.placement)
    faults.push({
      path: ['placement', home],
      message: `"${home}" is the home ledger, which is in \`database\`: leave it out`,
    })
  return faults
}
