import { type Business, type HandlerRun, Progress } from '../effects/run.ts'
import type { ClaimedJob } from '../ledger/jobs/claim.ts'
import type { JobRef } from '../ledger/jobs/job-ref.ts'
import type { Event } from '../model/event.ts'
import { Interruption } from '../work/interruption.ts'
import { leaseEnded } from '../work/lease.ts'
import { claimedEvent } from './claimed-event.ts'
import type { Subscriber } from './subscriber.ts'

/** A job that is leased to this process, by a claim or by an accept. */
export interface LeasedJob {
  readonly job: JobRef
  readonly attempt: number
  /** The job's age when the run began. */
  readonly ageMs: number
  /** The epoch. A fresh replay, which repeats everything, raises it. */
  readonly epoch: number
  /** Whether no earlier run of this job can have recorded anything. */
  readonly isFirst: boolean
  /** The step whose commit completed an earlier run of this job. */
  readonly lastStep: string | undefined
  /**
   * The order key, for an ordered subscriber. The next job with this key waits for the end of this
   * run.
   */
  readonly orderKey: string | undefined
  /** Decodes the event. Throws if the stored bytes are gone or unreadable. */
  readonly event: () => Event
}

/** The subscriber, the job and the lease of a run. */
export interface RunTerms {
  readonly subscriber: Subscriber
  readonly business: Business
  /** Whether the lease still holds, by the clock of this process. */
  readonly isHeld: () => boolean
}

/**
 * One run of a job, under its worker's lease and its own fence. This is the only object of a run:
 * the worker, the handler's context and settlement all use it. effects/run.ts describes its parts
 * and their lifetimes.
 */
export class Run implements LeasedJob, RunTerms, HandlerRun {
  readonly business: Business
  readonly subscriber: Subscriber
  readonly job: JobRef
  readonly attempt: number
  readonly ageMs: number
  readonly epoch: number
  readonly isFirst: boolean
  readonly lastStep: string | undefined
  readonly orderKey: string | undefined
  readonly event: () => Event
  readonly isHeld: () => boolean
  /** The generation of the circuit in which the run began. */
  readonly circuitGeneration: number | undefined
  readonly interruption = new Interruption()
  readonly progress: Progress

  constructor(leased: LeasedJob, { subscriber, business, isHeld }: RunTerms) {
    this.business = business
    this.subscriber = subscriber
    this.job = leased.job
    this.attempt = leased.attempt
    this.ageMs = leased.ageMs
    this.epoch = leased.epoch
    this.isFirst = leased.isFirst
    this.lastStep = leased.lastStep
    this.orderKey = leased.orderKey
    this.event = leased.event
    this.isHeld = isHeld
    this.circuitGeneration = subscriber.limiter?.circuit?.generation
    this.progress = new Progress(this)
  }

  requireHeld(): void {
    if (this.interruption.reason) throw this.interruption.reason
    if (!this.isHeld()) throw leaseEnded('worker')
  }
}

/** The run of a job that was claimed from the ledger, with its receipt. */
export function claimedRun(job: ClaimedJob, terms: RunTerms): Run {
  const { shard, receiptId, subscriber, fence } = job
  return new Run(
    {
      job: { shard, receiptId, subscriber, fence },
      attempt: job.attempt,
      ageMs: job.ageMs,
      epoch: job.epoch,
      // Even with fence 1: a crash of the server may have undone an earlier claim with the same
      // fence, and the run of that claim may have recorded something since; see
      // docs/decisions/0011.
      isFirst: false,
      lastStep: job.lastStep ?? undefined,
      orderKey: job.orderKey ?? undefined,
      event: () => claimedEvent(job, terms.subscriber),
    },
    terms,
  )
}

/**
 * The run of a job that this process has just accepted. Its event is in memory. Its fence reached
 * the disk with its receipt, so no other run can have the same fence.
 */
export function bornLeasedRun(job: JobRef, event: () => Event, terms: RunTerms): Run {
  return new Run(
    {
      job,
      attempt: 1,
      ageMs: 0,
      epoch: 0,
      isFirst: true,
      lastStep: undefined,
      orderKey: undefined,
      event,
    },
    terms,
  )
}
