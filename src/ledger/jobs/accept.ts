import { isDistributed } from '../driver/shapes.ts'
import { type Queryable, rows } from '../driver/statement.ts'
import { acceptDistributed } from './accept-distributed.ts'
import { ACCEPT_LONE } from './accept-lone.ts'
import type { Batch, LoneWork } from './accept-parameters.ts'
import { ACCEPT, ACCEPT_SEALED } from './accept-statements.ts'
import type { NewJob, NewReceipt, NewWork } from './new-work.ts'

/** A receipt of the batch that already existed, or a job that was not born leased. */
export interface AcceptException {
  readonly id: string
  /** The subscriber whose job was not born leased; null: the receipt already existed. */
  readonly held: number | null
}

/** A data key was forgotten after payloads were sealed with it. Nothing was recorded. */
export class DataKeyGone extends Error {
  override readonly name = 'DataKeyGone'
}

/**
 * Inserts a batch, which holds each id once. Returns only the exceptions. Either all payloads of a
 * batch are sealed, or none.
 */
export async function insertReceipts(
  db: Queryable,
  batch: readonly NewWork[],
  context: Context,
): Promise<AcceptException[]> {
  const found = isDistributed(db)
    ? await acceptDistributed(db, takeApart(batch, context))
    : await acceptPlain(db, batch, context)
  return found.map(({ id, held }) => {
    if (id === null) throw new DataKeyGone('a data key was forgotten after payloads were sealed with it')
    return { id, held }
  })
}

type Context = Pick<Batch, 'worker' | 'shards'>

interface ExceptionRow {
  readonly id: string | null
  readonly held: number | null
}

function acceptPlain(db: Queryable, batch: readonly NewWork[], context: Context): Promise<ExceptionRow[]> {
  const lone = loneOf(batch, context)
  return lone ? acceptLone(db, lone) : acceptBatch(db, takeApart(batch, context))
}

/** A sealed payload and an order key need the statements for batches. */
function loneOf([work, next]: readonly NewWork[], { worker }: Context): LoneWork | undefined {
  if (work === undefined || next !== undefined || work.receipt.seal) return undefined
  const { receipt, jobs } = work
  const [job] = jobs
  return jobs.length > 1 || job?.orderKey !== undefined ? undefined : { receipt, job, worker }
}

function acceptLone(db: Queryable, work: LoneWork): Promise<ExceptionRow[]> {
  const accepting = work.worker === undefined ? ACCEPT_LONE.plain : ACCEPT_LONE.leased
  return rows(
    db,
    accepting,
    accepting.parameters.map(({ encode }) => encode(work)),
  )
}

function acceptBatch(db: Queryable, parts: Batch): Promise<ExceptionRow[]> {
  const { arrived: batch, worker } = parts
  const { plain, leased, inOrder } = batch[0]?.receipt.seal ? ACCEPT_SEALED : ACCEPT
  const accepting = hasOrder(batch) ? inOrder : worker === undefined ? plain : leased
  const values = accepting.parameters.map(({ encode }) => encode(parts))
  return rows(db, accepting, values)
}

// Two receivers with the same events in their batches wait for each other's rows. If both insert in
// the same order, they cannot deadlock.
function byId(a: NewWork, b: NewWork): number {
  return a.receipt.id < b.receipt.id ? -1 : 1
}

function takeApart(arrived: readonly NewWork[], context: Context): Batch {
  const sorted = arrived.toSorted(byId)
  const sources = new Map<string, { position: number; receipt: NewReceipt }>()
  const positions: number[] = []
  const jobs: NewJob[] = []
  const jobReceipts: string[] = []
  for (const work of sorted) {
    const { receipt } = work
    const name = `${receipt.tenant}\n${receipt.source}`
    const source = sources.get(name) ?? { position: sources.size + 1, receipt }
    if (source.receipt === receipt) sources.set(name, source)
    positions.push(source.position)
    for (const job of work.jobs) {
      jobs.push(job)
      jobReceipts.push(receipt.id)
    }
  }
  return {
    ...context,
    arrived,
    receipts: sorted.map(({ receipt }) => receipt),
    sources: [...sources.values()].map(({ receipt }) => receipt),
    positions,
    jobs,
    jobReceipts,
  }
}

function hasOrder(batch: readonly NewWork[]): boolean {
  return batch.some(({ jobs }) => jobs.some(({ orderKey }) => orderKey !== undefined))
}
