import { sourcesNamed } from '../ledger/jobs/subscribers.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { existingReceipts } from '../ledger/read/arrived.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import { type ImportedBatch, importReceipts, type ProcessedEvent } from '../ledger/receipts/import.ts'
import { HookonceError } from '../model/errors.ts'
import { receiptIds, shardOf } from '../model/receipt-id.ts'
import { whereSource } from './across.ts'
import { type DecisionReason, requireReason } from './audit.ts'
import { requireKnown } from './sources.ts'

/** An event that another system has processed. */
export interface ImportedKey {
  /** The event key, as the source reads it from a delivery. */
  readonly key: string
  readonly type?: string | undefined
  readonly occurredAt?: Date | undefined
}

export interface ImportRequest {
  readonly source: string
  /** Undefined: the only tenant that has a source of this name. */
  readonly tenant?: string | undefined
  readonly keys: AsyncIterable<ImportedKey>
  /** Counts the keys without recording them. */
  readonly isDryRun?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: { readonly done: number }) => void) | undefined
}

export interface ImportReport {
  readonly tenant: string
  readonly source: string
  /** The number of keys in the input, including repeats. */
  readonly read: number
  /** The number of recorded keys. In a dry run, the number of keys that would be recorded. */
  readonly imported: number
  /** The number of keys that the ledger had before. They stay unchanged. */
  readonly known: number
  /** The number of keys that repeat an earlier key of the input. */
  readonly repeated: number
  /**
   * Known events whose jobs are not finished. They take effect here, although the other system has
   * processed them.
   */
  readonly unfinished: number
  /** The receipts of some unfinished events. */
  readonly unfinishedReceipts: readonly string[]
}

/** The type of an event whose type is not in the input. */
const NO_TYPE = 'imported'
/** Keys per commit: enough to make the cost of the disk small, few enough to stop soon. */
const BATCH = 1_000
const MAX_LISTED = 20

async function importIn(
  ledger: LedgerTables,
  request: ImportRequest,
  reason: DecisionReason,
): Promise<ImportReport> {
  const { isDryRun = false, signal } = request
  if (!isDryRun) requireReason(reason, 'an import')
  const { tenant, keySeconds } = await onlyTenant(ledger, request)
  const { source } = request
  const idOf = receiptIds(tenant, source)
  const report = { tenant, source, read: 0, imported: 0, known: 0, repeated: 0, unfinished: 0 }
  const unfinishedReceipts: string[] = []
  const record = async (batch: ReadonlyMap<string, ProcessedEvent>): Promise<void> => {
    const events = [...batch.values()]
    const { imported, known, unfinished } = isDryRun
      ? await planned(ledger, events)
      : await importReceipts(ledger.pool, { tenant, source }, events)
    report.imported += imported
    report.known += known
    report.unfinished += unfinished.length
    unfinishedReceipts.push(...unfinished.slice(0, MAX_LISTED - unfinishedReceipts.length))
  }
  let batch = new Map<string, ProcessedEvent>()
  try {
    for await (const { key, type, occurredAt } of request.keys) {
      if (signal?.aborted) break
      report.read += 1
      const id = idOf(key)
      if (batch.has(id)) report.repeated += 1
      batch.set(id, {
        id,
        shard: shardOf(id, ledger.shards),
        keySeconds,
        eventKey: key,
        eventType: type || NO_TYPE,
        occurredAtMs: occurredAt?.getTime(),
      })
      if (batch.size < BATCH) continue
      await record(batch)
      batch = new Map()
      request.onProgress?.({ done: report.read })
    }
  } finally {
    // The records before a wrong line are recorded.
    if (batch.size > 0) await record(batch)
    if (report.imported > 0 && !isDryRun) await audit(ledger, report, reason)
  }
  return { ...report, unfinishedReceipts }
}

/**
 * Records events that another system has processed, so that their retries are duplicates here. Each
 * event becomes a receipt without a body and without jobs. An import may be repeated: known keys
 * stay unchanged.
 */
export const importKeys = whereSource(([request]) => request, importIn)

async function planned({ pool }: LedgerTables, events: readonly ProcessedEvent[]): Promise<ImportedBatch> {
  const existing = await existingReceipts(pool, events)
  return { imported: events.length - existing.size, known: existing.size, unfinished: [] }
}

async function onlyTenant(
  ledger: LedgerTables,
  { source, tenant }: ImportRequest,
): Promise<{ readonly tenant: string; readonly keySeconds: number }> {
  const all = await sourcesNamed(ledger.pool, source)
  const found = all.filter((one) => (tenant ?? one.tenant) === one.tenant)
  const [only, another] = found
  if (only && !another) return only
  if (another) {
    const tenants = found.map((one) => one.tenant).join(', ')
    throw new HookonceError(
      'CONFIG_INVALID',
      `several tenants have a source "${source}": pass one of ${tenants} with --tenant`,
    )
  }
  await requireKnown(ledger, { source, tenant })
  throw new HookonceError('CONFIG_INVALID', `the ledger knows no source "${source}"`)
}

async function audit(
  { pool }: LedgerTables,
  { tenant, source, read, imported, known }: Omit<ImportReport, 'unfinishedReceipts'>,
  { by: actor, why, address }: DecisionReason,
): Promise<void> {
  const detail = { read, imported, known }
  await recordAudit(pool, { actor, action: 'import', why, tenant, subject: source, detail, address })
}
