import { isOutage } from '../ledger/driver/outage.ts'
import { DataKeyGone } from '../ledger/jobs/accept.ts'
import { announcer, type DueJob } from '../ledger/jobs/announce.ts'
import type { JobRef } from '../ledger/jobs/job-ref.ts'
import type { NewReceipt, NewWork } from '../ledger/jobs/new-work.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { refusedTenant, TenantMoved } from '../ledger/places/intake.ts'
import type { KnownReceipt } from '../ledger/receipts/known-receipts.ts'
import { type Accepted, acceptReceipts } from '../ledger/receipts/receipts.ts'
import type { TenantKeys, Vault } from '../ledger/vault/vault.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { NO_SECRET } from '../model/reconciled.ts'
import type { Observer } from '../observe/observer.ts'
import { breaker } from '../work/breaker.ts'
import { groupCommit } from '../work/group-commit.ts'
import { nextJobs } from '../work/release-next.ts'
import { bodyHashOf, duplicateTally, isHashOf } from './duplicates.ts'
import type { OrderKeys } from './order-keys.ts'
import { recentDuplicates } from './recent-duplicates.ts'
import { hashReceipt, sealReceipt } from './seal-receipt.ts'

/** The worker of this process, which may run accepted jobs at once. */
export interface HandOff {
  /** The id of the worker to lease to. Undefined if this process cannot run jobs now. */
  readonly worker: number | undefined
  reserve(subscriber: number): boolean
  release(subscriber: number): void
  run(job: JobRef, worker: number, event: () => Event): void
  /** Called when there are jobs in the ledger that any worker may claim. */
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

/**
 * A delivery with the keys of its tenant, if its payload will be encrypted. Encryption happens at
 * the commit.
 */
interface KeyedArrival extends Arrival {
  readonly keys?: TenantKeys
}

export type Acceptance = 'recorded' | 'duplicate' | 'mismatch'

export interface Acceptor {
  accept(arrival: Arrival): Promise<Acceptance>
  /** The number of deliveries that wait for their commit. */
  readonly waiting: number
  /** Resolves when every arrival is in the ledger. */
  idle(): Promise<void>
  /** Makes the next delivery of every event check the ledger, not the memory. */
  forgetDuplicates(): void
}

/** Larger batches gain little, and their first delivery waits for the last one. */
const MAX_BATCH = 256
const MAX_BATCH_BYTES = 8 * 1024 * 1024
/**
 * While one commit is synced to the disk, the next is read, verified and sent. Further commits
 * would only make each other wait.
 */
const MAX_IN_FLIGHT = 2
/** Keys are rarely forgotten. If it happens repeatedly, the delivery is refused. */
const MAX_SEALS = 3

/**
 * Records deliveries in group commits and hands new jobs to the worker of this process, if it has a
 * free slot. These jobs are born leased, so they need no claim. If the process dies, the lease
 * expires.
 */
export function acceptor(ledger: LedgerTables, handOff: HandOff, observer: Observer): Acceptor {
  const { pool, shards, vault } = ledger
  const recent = recentDuplicates()
  pool.on('remove', recent.forget).on('error', recent.forget)
  const tally = duplicateTally(pool, observer, recent.answered)
  let duplicatesOfTurn: Promise<Acceptance> | undefined
  const announce = announcer(pool)
  /**
   * The jobs are due in the ledger: the worker of this process, or of another, claims them when it
   * has a free slot.
   */
  function leaveDue(job?: DueJob): void {
    handOff.wake()
    announce(job)
  }
  const releasing = nextJobs(ledger, {
    onDue: () => leaveDue(),
    onTrouble: (error) => observer.trouble({ doing: 'releasing the next ordered jobs', error }),
  })
  // Only outages of the ledger stop all deliveries. A missing encryption key stops those of one
  // tenant.
  const outage = breaker((error) => !(error instanceof HookonceError) && isOutage(error))
  const sealing = vault && vault.masters.length > 0 ? vault : undefined
  const group = groupCommit<KeyedArrival, Acceptance>((batch) => outage.attempt(() => commitPresent(batch)), {
    maxItems: MAX_BATCH,
    maxInFlight: MAX_IN_FLIGHT,
    maxBytes: MAX_BATCH_BYTES,
    bytesOf: (arrival: Arrival) => arrival.receipt.body.byteLength,
  })

  function accept(arrival: Arrival): Promise<Acceptance> {
    return sealing ? acceptSealed(arrival, sealing) : acceptHashed(arrival)
  }

  /**
   * The keys are read before the deliveries are grouped: a tenant without its master key must not
   * stop others.
   */
  async function acceptSealed(arrival: Arrival, keeper: Vault): Promise<Acceptance> {
    const { receipt } = arrival
    const { tenant } = receipt
    const keys = keeper.tenantKeys(tenant) ?? (await outage.attempt(() => keeper.loadTenantKeys(tenant)))
    return acceptHashed({ ...arrival, receipt: hashReceipt(receipt, keys), keys })
  }

  function acceptHashed(arrival: KeyedArrival): Promise<Acceptance> {
    const { receipt } = arrival
    const recordedSha256 = isReconciled(receipt) ? undefined : recent.bodyOf(receipt.id)
    if (!recordedSha256 || !isHashOf(recordedSha256, receipt)) return group.add(arrival)
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

  /** Omits deliveries of tenants that were moved to another ledger: they are refused. */
  async function commitPresent(batch: readonly KeyedArrival[]): Promise<(Acceptance | TenantMoved)[]> {
    try {
      return await commit(batch)
    } catch (error) {
      const moved = refusedTenant(error)
      if (moved === undefined) throw error
      const others = batch.filter(({ receipt }) => receipt.tenant !== moved)
      const outcomes = others.length === 0 ? [] : await commitPresent(others)
      let next = 0
      return batch.map(({ receipt }) => {
        if (receipt.tenant === moved) return new TenantMoved(moved)
        next += 1
        return outcomes[next - 1] ?? new TenantMoved(moved)
      })
    }
  }

  async function commit(batch: readonly KeyedArrival[]): Promise<Acceptance[]> {
    const askedAtMs = performance.now()
    const worker = handOff.worker
    // Of several copies of one event in the batch, the first is recorded and the others are
    // duplicates.
    const places = new Map<string, number>()
    const firsts: KeyedArrival[] = []
    for (const arrival of batch) {
      if (places.has(arrival.receipt.id)) continue
      places.set(arrival.receipt.id, firsts.length)
      firsts.push(arrival)
    }
    const works = firsts.map((arrival) => withJobs(arrival, worker, handOff))
    const outcomes = await record(works, worker).catch((error) => {
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
      return countDuplicate(
        arrival.receipt,
        outcome.outcome === 'known' ? outcome : recordedNow(first.receipt),
      )
    })
  }

  /** Encrypts payloads again, with new keys, if one of their keys was forgotten meanwhile. */
  async function record(works: readonly NewWork[], worker: number | undefined): Promise<Accepted[]> {
    let current = works
    for (let tries = 1; ; tries += 1) {
      try {
        return await acceptReceipts(pool, current, { worker, shards })
      } catch (error) {
        if (!sealing || !(error instanceof DataKeyGone)) throw error
        if (tries === MAX_SEALS) throw new HookonceError('ENCRYPTION_KEY_MISSING', error.message)
        current = await sealedAgain(works, sealing)
      }
    }
  }

  /** Starts the jobs of a new receipt, or leaves them to be claimed. */
  function handOver(work: NewWork, outcome: Accepted, worker: number | undefined, event: () => Event): void {
    if (outcome.outcome === 'known') return releaseSlots(work, handOff)
    const { id: receiptId, shard } = work.receipt
    for (const { subscriber, bornLeased, orderKey } of work.jobs) {
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

  function countDuplicate(receipt: NewReceipt, recorded: RecordedBody): Acceptance {
    // A listed event is not a delivery: if the event is already recorded, nothing changes.
    if (isReconciled(receipt)) return 'duplicate'
    // The API renders a body differently than a delivery, so the two cannot be compared.
    const isSame = recorded.reconciled || isHashOf(recorded.bodySha256, receipt)
    tally.add(receipt, isSame ? undefined : bodyHashOf(receipt))
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
    forgetDuplicates: recent.forget,
  }
}

type RecordedBody = Pick<KnownReceipt, 'bodySha256' | 'reconciled'>

function recordedNow(receipt: NewReceipt): RecordedBody {
  return { bodySha256: bodyHashOf(receipt), reconciled: isReconciled(receipt) }
}

function isReconciled({ secret }: NewReceipt): boolean {
  return secret === NO_SECRET
}

function withJobs(
  { receipt, subscribers, orderKeys, keys }: KeyedArrival,
  worker: number | undefined,
  handOff: HandOff,
): NewWork {
  const jobs = subscribers.map((subscriber) => {
    const orderKey = orderKeys?.get(subscriber)
    // Before the commit it is unknown whether an ordered job may run.
    const bornLeased = orderKey === undefined && worker !== undefined && handOff.reserve(subscriber)
    return { subscriber, bornLeased, orderKey }
  })
  return { receipt: keys ? sealReceipt(receipt, keys) : receipt, jobs }
}

async function sealedAgain(works: readonly NewWork[], vault: Vault): Promise<NewWork[]> {
  const tenants = [...new Set(works.map(({ receipt }) => receipt.tenant))]
  const keys = new Map<string, TenantKeys>()
  for (const tenant of tenants) keys.set(tenant, await vault.loadTenantKeys(tenant))
  return works.map((work) => {
    const own = keys.get(work.receipt.tenant)
    return own ? { ...work, receipt: sealReceipt(work.receipt, own) } : work
  })
}

function releaseSlots({ jobs }: NewWork, handOff: HandOff): void {
  for (const job of jobs) if (job.bornLeased) handOff.release(job.subscriber)
}
