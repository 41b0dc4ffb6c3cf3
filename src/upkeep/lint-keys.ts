import type { LedgerTables } from '../ledger/ledger.ts'
import { type KeyNumbers, keyNumbers } from '../ledger/receipts/key-lint.ts'

/** What is wrong with the event key of a source, with the numbers that show it. */
export interface KeyFinding {
  readonly tenant: string
  readonly source: string
  readonly finding: 'constant' | 'missing' | 'colliding' | 'never-repeated'
  readonly says: string
}

// Fewer than these say nothing: a provider's test button is pressed as often.
const MIN_DELIVERIES = 20
const MIN_CASES = 5
const MIN_SHARE = 0.01

/** Looks for keys that do not tell events apart, or tell copies of one apart. */
export async function lintKeys({ pool, shards }: LedgerTables): Promise<KeyFinding[]> {
  return (await keyNumbers(pool, shards)).flatMap(findingsOf)
}

function findingsOf(numbers: KeyNumbers): KeyFinding[] {
  const { tenant, source, receipts, duplicates, mismatches, mismatchedKeys } = numbers
  const { repeatedBodies, topDeliveries, topMismatches, missing } = numbers
  const deliveries = receipts + duplicates
  const findings: Pick<KeyFinding, 'finding' | 'says'>[] = []
  const isOften = (cases: number, all: number): boolean => cases >= MIN_CASES && cases >= all * MIN_SHARE
  const isConstant =
    topDeliveries >= MIN_DELIVERIES &&
    topDeliveries >= deliveries / 2 &&
    topMismatches >= (topDeliveries - 1) / 2

  if (isConstant)
    findings.push({
      finding: 'constant',
      says: `one key came with ${topDeliveries} of ${deliveries} deliveries, ${topMismatches} times with another body: it does not name the event, and all but the first are dropped as its copies`,
    })
  else if (isOften(mismatches, deliveries))
    findings.push({
      finding: 'colliding',
      says: `${mismatches} of ${deliveries} deliveries came under a known key with another body (${mismatchedKeys} keys): different events share a key, or the body changes with each attempt`,
    })
  if (isOften(missing, deliveries))
    findings.push({
      finding: 'missing',
      says: `${missing} of ${deliveries} deliveries had no key where it should be and were recorded under a hash of their body, which a retry may change: look at \`event.key\``,
    })
  if (duplicates === 0 && receipts >= MIN_DELIVERIES && isOften(repeatedBodies, receipts))
    findings.push({
      finding: 'never-repeated',
      says: `${repeatedBodies} of ${receipts} events had the body of an earlier one under another key, and no key ever came twice: the key changes with each attempt, so retries are new events`,
    })
  return findings.map((found) => ({ tenant, source, ...found }))
}
