import type { LedgerTables } from '../ledger/ledger.ts'
import { type KeyNumbers, keyNumbers } from '../ledger/receipts/key-lint.ts'
import type { Observer } from '../observe/observer.ts'
import type { Chore } from './chore.ts'

/** The fault persists until the configuration changes, so one reminder per hour is enough. */
const EVERY_MS = 60 * 60_000

export function lintEventKeysChore(ledger: LedgerTables, observer: Observer): Chore {
  return {
    name: 'lint-event-keys',
    everyMs: EVERY_MS,
    async run() {
      const findings = await lintEventKeys(ledger)
      for (const finding of findings) observer.keyFinding?.(finding)
      return { findings: findings.length }
    },
  }
}

/** A fault of a source's event key, with the numbers that show it. */
export interface KeyFinding {
  readonly tenant: string
  readonly source: string
  readonly finding: 'constant' | 'missing' | 'colliding' | 'never-repeated'
  readonly says: string
}

// Below these numbers there is no evidence: a provider's test button produces as many.
const MIN_DELIVERIES = 20
const MIN_CASES = 5
const MIN_SHARE = 0.01

/** Finds event keys that different events share, or that change with each retry. */
export async function lintEventKeys({ pool, shards }: LedgerTables): Promise<KeyFinding[]> {
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
      says: `one key came with ${topDeliveries} of ${deliveries} deliveries, ${topMismatches} times with another body: it does not identify the event, so all but the first are treated as copies`,
    })
  else if (isOften(mismatches, deliveries))
    findings.push({
      finding: 'colliding',
      says: `${mismatches} of ${deliveries} deliveries came under a known key with another body (${mismatchedKeys} keys): different events share a key, or the body changes with each attempt`,
    })
  if (isOften(missing, deliveries))
    findings.push({
      finding: 'missing',
      says: `${missing} of ${deliveries} deliveries lacked their key and were recorded under a hash of their body, which a retry may change: look at \`event.key\``,
    })
  if (duplicates === 0 && receipts >= MIN_DELIVERIES && isOften(repeatedBodies, receipts))
    findings.push({
      finding: 'never-repeated',
      says: `${repeatedBodies} of ${receipts} events had the body of an earlier one under another key, and no key was ever repeated: the key changes with each attempt, so retries are new events`,
    })
  return findings.map((found) => ({ tenant, source, ...found }))
}
