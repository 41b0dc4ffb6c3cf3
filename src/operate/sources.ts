import type { LedgerTables } from '../ledger/ledger.ts'
import { registered } from '../ledger/read/registered.ts'
import { HookonceError } from '../model/errors.ts'
import { type KeyFinding, lintEventKeys } from '../upkeep/lint-event-keys.ts'

export type { KeyFinding }

/** The sources that the ledger knows. */
export async function sourceNames(ledger: LedgerTables): Promise<string[]> {
  return [...new Set((await registered(ledger)).map(({ source }) => source))]
}

export interface SourceFilter {
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
}

/** Rejects names that the ledger does not know: a typo must not look like an empty result. */
export async function requireKnown(
  ledger: LedgerTables,
  { source, subscriber }: SourceFilter,
): Promise<void> {
  if (source === undefined && subscriber === undefined) return
  const known = await registered(ledger)
  const ofSource = known.filter((one) => source === undefined || one.source === source)
  if (source !== undefined && ofSource.length === 0)
    throw new HookonceError('CONFIG_INVALID', `the ledger knows no source "${source}"`)
  if (subscriber === undefined || ofSource.some((one) => one.subscriber === subscriber)) return
  const of = source === undefined ? '' : ` of source "${source}"`
  throw new HookonceError('CONFIG_INVALID', `the ledger knows no subscriber "${subscriber}"${of}`)
}

/** Faults of the event keys of all sources, or of one. */
export async function listKeyFindings(
  ledger: LedgerTables,
  { source }: Pick<SourceFilter, 'source'> = {},
): Promise<KeyFinding[]> {
  const findings = await lintEventKeys(ledger)
  return findings.filter((finding) => source === undefined || finding.source === source)
}
