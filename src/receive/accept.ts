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
import { recentDuplicates } from './recent-duplicates.ts'

/** A worker in this process that may run at once what is accepted here. */
export interface HandOff {
  /** The id to lease to; undefined: nobody here can take work now. */
  readonly worker: number | undefined
  reserve(subscriber: number): boolean
  release(subscriber: number): void
  run(job: JobRef, worker: number, event: () => Event): void
  /** Jobs were left in the ledger for whoever claims them. */
  wake(): void
}

/** A verified delivery on its way into the ledger. */
export interface Arrival {
  readonly receipt: NewReceipt
  readonly subscribers: readonly number[]
  /** By subscriber, of those that want an order. */
  readonly lanes?: ReadonlyMap<number, string> | undefined
  /** Made when somebody here runs it. */
  readonly event: () => Event
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
 * While one is synced to the disk, the next is read, verified and sent. More only make each other
 * wait.
 */
const MAX_IN_FLIGHT = 2

/**
 * Records deliveries in group commits and hands the new ones to the worker of this process, where
 * it has room: such a job is born leased, so that it needs no claim. If the process dies, the lease
 * runs out.
 */
export function acceptor(ledger: LedgerTables, handOff: HandOff, observer: Observer): Acceptor {
  const { pool, shards } = ledger
  const recent = recentDuplicates()
  pool.on('remove', recent.forget).on('error', recent.forget)
  const tally = duplicateTally(pool, observer, recent.answered)
  let atTurn: Promise<Acceptance> | undefined
  const announce = announcer(pool)
  /** Jobs were left in the ledger: for the worker here when it has room, or for one elsewhere. */
  function leave(job?: DueJob): void {
    handOff.wake()
    announce(job)
  }
  const passer = nextJobs(ledger, {
    onDue: () => leave(),
    onTrouble: (error) => observer.trouble({ doing: 'passing lanes on', error }),
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
    const standing = recent.bodyOf(receipt.id)
    if (!standing || !isHashOf(standing, receipt.body)) return group.add(arrival)
    tally.add(receipt)
    return duplicateAtTurn()
  }

  /**
   * Those that one turn of the event loop has read are answered together, as a commit's are.
   * Answered one by one, each would wake whoever reads the answers, which takes longer than all
   * else here.
   */
  function duplicateAtTurn(): Promise<Acceptance> {
    atTurn ??= new Promise((resolve) => {
      setImmediate(() => {
        atTurn = undefined
        resolve('duplicate')
      })
    })
    return atTurn
  }

  async function commit(batch: readonly Arrival[]): Promise<Acceptance[]> {
    const askedAtMs = performance.now()
    const worker = handOff.worker
    // Copies of one event that arrive together: the first is recorded, the others are its
    // duplicates.
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
        throw new Error(`the ledger said nothing of receipt ${arrival.receipt.id}`)
      if (first === arrival)
        handOver({ work, outcome, worker, event: arrival.event, leave, passOn: passer.add }, handOff)
      if (first === arrival && outcome.outcome === 'recorded') return 'recorded'
      if (outcome.outcome === 'known') recent.add(arrival.receipt.id, outcome, askedAtMs)
      const standing = outcome.outcome === 'known' ? outcome.bodySha256 : sha256(first.receipt.body)
      return repeated(arrival.receipt, standing)
    })
  }

  function repeated(receipt: NewReceipt, standing: Uint8Array): Acceptance {
    const isSame = isHashOf(standing, receipt.body)
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
      await passer.idle()
      await tally.idle()
    },
  }
}

function withJobs(
  { receipt, subscribers, lanes }: Arrival,
  worker: number | undefined,
  handOff: HandOff,
): NewWork {
  const jobs = subscribers.map((subscriber) => {
    const lane = lanes?.get(subscriber)
    // Whether it is its turn is not known before the commit.
    const bornLeased = lane === undefined && worker !== undefined && handOff.reserve(subscriber)
    return { subscriber, bornLeased, lane }
  })
  return { receipt, jobs }
}

function releaseSlots({ jobs }: NewWork, handOff: HandOff): void {
  for (const job of jobs) if (job.bornLeased) handOff.release(job.subscriber)
}

interface Handing {
  readonly work: NewWork
  readonly outcome: Accepted
  readonly worker: number | undefined
  readonly event: () => Event
  readonly leave: (job: DueJob) => void
  readonly passOn: (lane: string) => Promise<void>
}

function handOver({ work, outcome, worker, event, leave, passOn }: Handing, handOff: HandOff): void {
  if (outcome.outcome === 'known') return releaseSlots(work, handOff)
  const { id: receiptId, shard } = work.receipt
  for (const { subscriber, bornLeased, lane } of work.jobs) {
    if (lane !== undefined) void passOn(lane)
    else if (bornLeased && worker !== undefined && !outcome.held.includes(subscriber)) {
      // A job that is born leased begins with fence 1.
      handOff.run({ shard, receiptId, subscriber, fence: 1 }, worker, event)
    } else {
      if (bornLeased) handOff.release(subscriber)
      leave({ shard, subscriber })
    }
  }
}
