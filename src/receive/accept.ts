import type { Pool } from 'pg'
import { groupCommit } from '../ledger/group-commit.ts'
import type { JobRef } from '../ledger/jobs.ts'
import { type Accepted, acceptReceipts, type NewReceipt } from '../ledger/receipts.ts'
import type { Event } from '../model/event.ts'
import type { Observer } from '../observe/observer.ts'
import { duplicateTally } from './duplicates.ts'

/** A worker in this process that may run at once what is accepted here. */
export interface HandOff {
  /** The id to lease to; undefined: nobody here can take work now. */
  readonly worker: number | undefined
  reserve(subscriber: number): boolean
  release(subscriber: number): void
  run(job: JobRef, worker: number, event: Event): void
  /** Jobs were left in the ledger for whoever claims them. */
  wake(): void
}

/** A verified delivery on its way into the ledger. */
export interface Arrival {
  readonly receipt: Omit<NewReceipt, 'jobs'>
  readonly subscribers: readonly number[]
  readonly event: Event
}

export type Acceptance = 'recorded' | 'duplicate' | 'mismatch'

export interface Acceptor {
  accept(arrival: Arrival): Promise<Acceptance>
  /** Deliveries that wait for their commit. */
  readonly waiting: number
  /** Resolves when everything that arrived is in the ledger. */
  idle(): Promise<void>
}

/** Larger batches gain little and make the first of them wait for the last. */
const MAX_BATCH = 256
const MAX_BATCH_BYTES = 8 * 1024 * 1024

/**
 * Records deliveries in group commits and hands the new ones to the worker of this process, where it has room:
 * such a job is born leased, so that it needs no claim. If the process dies, the lease runs out.
 */
export function acceptor(pool: Pool, handOff: HandOff, observer: Observer): Acceptor {
  const tally = duplicateTally(pool, observer)
  const group = groupCommit(commit, {
    maxItems: MAX_BATCH,
    maxBytes: MAX_BATCH_BYTES,
    bytesOf: (arrival: Arrival) => arrival.receipt.body.byteLength,
  })

  async function commit(batch: readonly Arrival[]): Promise<Acceptance[]> {
    const worker = handOff.worker
    // Copies of one event that arrive together: the first is recorded, the others are its duplicates.
    const firsts = new Map<string, Arrival>()
    for (const arrival of batch) if (!firsts.has(arrival.receipt.id)) firsts.set(arrival.receipt.id, arrival)

    const arrivals = [...firsts.values()]
    const receipts = arrivals.map((arrival) => withJobs(arrival, worker, handOff))
    const outcomes = await acceptReceipts(pool, receipts, worker).catch((error) => {
      for (const receipt of receipts) releaseSlots(receipt, handOff)
      throw error
    })
    const acceptances = new Map<Arrival, Acceptance>()
    arrivals.forEach((arrival, index) => {
      const receipt = receipts[index]
      const outcome = outcomes[index]
      if (!receipt || !outcome) throw new Error(`the ledger said nothing of receipt ${arrival.receipt.id}`)
      handOver({ receipt, outcome, worker, event: arrival.event }, handOff)
      acceptances.set(arrival, acceptanceOf(outcome))
    })
    return batch.map((arrival) => {
      const acceptance = acceptances.get(arrival) ?? repeatOf(arrival, firsts.get(arrival.receipt.id))
      if (acceptance !== 'recorded') tally.add(arrival.receipt, acceptance)
      return acceptance
    })
  }

  return {
    accept: group.add,
    get waiting() {
      return group.waiting
    },
    async idle() {
      await group.idle()
      await tally.idle()
    },
  }
}

function withJobs(
  { receipt, subscribers }: Arrival,
  worker: number | undefined,
  handOff: HandOff,
): NewReceipt {
  const jobs = subscribers.map((subscriber) => ({
    subscriber,
    bornLeased: worker !== undefined && handOff.reserve(subscriber),
  }))
  return { ...receipt, jobs }
}

function releaseSlots(receipt: NewReceipt, handOff: HandOff): void {
  for (const job of receipt.jobs) if (job.bornLeased) handOff.release(job.subscriber)
}

interface Handing {
  readonly receipt: NewReceipt
  readonly outcome: Accepted
  readonly worker: number | undefined
  readonly event: Event
}

function handOver({ receipt, outcome, worker, event }: Handing, handOff: HandOff): void {
  if (outcome.outcome === 'known') return releaseSlots(receipt, handOff)
  for (const { subscriber, bornLeased } of receipt.jobs) {
    if (bornLeased && worker !== undefined && !outcome.held.includes(subscriber)) {
      // A job that is born leased begins with fence 1.
      handOff.run({ shard: receipt.shard, receiptId: receipt.id, subscriber, fence: 1 }, worker, event)
    } else {
      if (bornLeased) handOff.release(subscriber)
      handOff.wake()
    }
  }
}

function acceptanceOf(outcome: Accepted): Acceptance {
  if (outcome.outcome === 'recorded') return 'recorded'
  return outcome.sameBody ? 'duplicate' : 'mismatch'
}

function repeatOf(arrival: Arrival, first: Arrival | undefined): Acceptance {
  const same = first && Buffer.compare(first.receipt.bodySha256, arrival.receipt.bodySha256) === 0
  return same ? 'duplicate' : 'mismatch'
}
