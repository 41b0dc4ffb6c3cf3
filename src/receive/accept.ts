import { isOutage } from '../ledger/driver/outage.ts'
import type { NewReceipt, NewWork } from '../ledger/jobs/accept.ts'
import { announcer, type DueJob } from '../ledger/jobs/announce.ts'
import type { JobRef } from '../ledger/jobs/job-ref.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type Accepted, acceptReceipts } from '../ledger/receipts/receipts.ts'
import type { Event } from '../model/event.ts'
import type { Observer } from '../observe/observer.ts'
import { breaker } from '../work/breaker.ts'
import { groupCommit } from '../work/group-commit.ts'
import { nextJobs } from '../work/release-next.ts'
import { duplicateTally, isHashOf, sha256 } from './duplicates.ts'
import type { OrderKeys } from './order-keys.ts'
import { recentDuplicates } from './recent-duplicates.ts'

/** The worker of this process, which may run at once the jobs that are accepted here. */
export interface HandOff {
  /** The id to lease to; undefined if this process cannot take work now. */
  readonly worker: number | undefined
  reserve(subscriber: number): boolean
  release(subscriber: number): void
  run(job: JobRef, worker: number, event: () => Event): void
  /** Jobs are in the ledger, to be claimed by any worker. */
  wake(): void
}

/** A verified delivery on its way into the ledger. */
export interface Arrival {
  readonly receipt: NewReceipt
  readonly subscribers: readonly number[]
  readonly orderKeys?: OrderKeys | undefined
  /** Builds the event, for a job that runs in this process. */
  readonly event: () => Event
}

export type Acceptance = 'recorded' | 'duplicate' | 'mismatch'

export interface Acceptor {
  accept(arrival: Arrival): Promise<Acceptance>
  /** Deliveries that wait for their commit. */
  readonly waiting: number
  /** Resolves when every arrival is in the ledger. */
  idle(): Promise<void>
}

/** Larger batches gain little, and their first delivery waits for the last. */
const MAX_BATCH = 256
const MAX_BATCH_BYTES = 8 * 1024 * 1024
/**
 * While one commit is synced to the disk, the next is read, verified and sent. More commits only
 * make each other wait.
 */
const MAX_IN_FLIGHT = 2

/**
 * Records deliveries in group commits and hands new jobs to the worker of this process, if it has
 * room. Such a job is born leased, so it needs no claim. If the process dies, the lease expires.
 */
export function acceptor(ledger: LedgerTables, handOff: HandOff, observer: Observer): Acceptor {
  const { pool, shards } = ledger
  const recent = recentDuplicates()
  pool.on('remove', recent.forget).on('error', recent.forget)
  const tally = duplicateTally(pool, observer, recent.answered)
  let duplicatesOfTurn: Promise<Acceptance> | undefined
  const announce = announcer(pool)
  /** Jobs are due in the ledger: for the worker here when it has room, or for one elsewhere. */
  function leaveDue(job?: DueJob): void {
    handOff.wake()
    announce(job)
  }
  const releasing = nextJobs(ledger, {
    onDue: () => leaveDue(),
    onTrouble: (error) => observer.trouble({ doing: 'releasing the next ordered jobs', error }),
  })
  const outage = breaker(isOutage)
  const group = groupCommit((batch: readonly Arrival[]) => outage.attempt(() => commit(batch)), {
    maxItems: MAX_BATCH,
    maxInFlight: MAX_IN_FLIGHT,
    maxBytes: MAX_BATCH_BYTES,
    bytesOf: (arrival: Arrival) => arrival.receipt.body.byteLength,
  })

  function accept(arrival: Arrival): Promise<Acceptance> {
    const { receipt } = arrival
    const recordedSha256 = recent.bodyOf(receipt.id)
    if (!recordedSha256 || !isHashOf(recordedSha256, receipt.body)) return group.add(arrival)
    tally.add(receipt)
    return duplicateAtEndOfTurn()
  }

  /**
   * Resolves all duplicates found in one turn of the event loop together. Resolving them one by one
   * would wake each request separately, which costs more than all other work here
   * (docs/decisions/0018).
   */
  function duplicateAtEndOfTurn(): Promise<Acceptance> {
    duplicatesOfTurn ??= new Promise((resolve) => {
      setImmediate(() => {
        duplicatesOfTurn = undefined
        resolve('duplicate')
      })
    })
    return duplicatesOfTurn
  }

  async function commit(batch: readonly Arrival[]): Promise<Acceptance[]> {
    const askedAtMs = performance.now()
    const worker = handOff.worker
    // Of copies of one event in the batch, the first is recorded and the others are duplicates.
    const places = new Map<string, number>()
    const firsts: Arrival[] = []
    for (const arrival of batch) {
      if (places.has(arrival.receipt.id)) continue
      places.set(arrival.receipt.id, firsts.length)
      firsts.push(arrival)
    }
    const works = firsts.map((arrival) => withJobs(arrival, worker, handOff))
    const outcomes = await acceptReceipts(pool, works, { worker, shards }).catch((error) => {
      recent.forget()
      for (const work of works) releaseSlots(work, handOff)
      throw error
    })
    return batch.map((arrival) => {
      const place = places.get(arrival.receipt.id) ?? -1
      const [first, work, outcome] = [firsts[place], works[place], outcomes[place]]
      if (!first || !work || !outcome)
        throw new Error(`the ledger returned no outcome for receipt ${arrival.receipt.id}`)
      if (first === arrival) handOver(work, outcome, worker, arrival.event)
      if (first === arrival && outcome.outcome === 'recorded') return 'recorded'
      if (outcome.outcome === 'known') recent.add(arrival.receipt.id, outcome, askedAtMs)
      const recordedSha256 = outcome.outcome === 'known' ? outcome.bodySha256 : sha256(first.receipt.body)
      return countDuplicate(arrival.receipt, recordedSha256)
    })
  }

  /** Starts the jobs of a new receipt, or leaves them to be claimed. */
  function handOver(work: NewWork, outcome: Accepted, worker: number | undefined, event: () => Event): void {
    if (outcome.outcome === 'known') return releaseSlots(work, handOff)
    const { id: receiptId, shard } = work.receipt
    for (const { subscriber, bornLeased, lane: orderKey } of work.jobs) {
      if (orderKey !== undefined) void releasing.add(orderKey)
      else if (bornLeased && worker !== undefined && !outcome.held.includes(subscriber)) {
        // A job that is born leased begins with fence 1.
        handOff.run({ shard, receiptId, subscriber, fence: 1 }, worker, event)
      } else {
        if (bornLeased) handOff.release(subscriber)
        leaveDue({ shard, subscriber })
      }
    }
  }

  function countDuplicate(receipt: NewReceipt, recordedSha256: Uint8Array): Acceptance {
    const isSame = isHashOf(recordedSha256, receipt.body)
    tally.add(receipt, isSame ? undefined : sha256(receipt.body))
    return isSame ? 'duplicate' : 'mismatch'
  }

  return {
    accept,
    get waiting() {
      return group.waiting
    },
    async idle() {
      await group.idle()
      await releasing.idle()
      await tally.idle()
    },
  }
}

function withJobs(
  { receipt, subscribers, orderKeys }: Arrival,
  worker: number | undefined,
  handOff: HandOff,
): NewWork {
  const jobs = subscribers.map((subscriber) => {
    const orderKey = orderKeys?.get(subscriber)
    // Whether an ordered job may run is not known before the commit.
    const bornLeased = orderKey === undefined && worker !== undefined && handOff.reserve(subscriber)
    return { subscriber, bornLeased, lane: orderKey }
  })
  return { receipt, jobs }
}

function releaseSlots({ jobs }: NewWork, handOff: HandOff): void {
  for (const job of jobs) if (job.bornLeased) handOff.release(job.subscriber)
}
