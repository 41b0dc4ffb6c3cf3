import { bytesOf } from '../ledger/driver/escaped-bytes.ts'
import type { ClaimedJob } from '../ledger/jobs/claim.ts'
import type { JobRef } from '../ledger/jobs/job-ref.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { type Recorded, recordedEvent } from '../sources/event.ts'
import { Interruption } from '../work/interruption.ts'
import type { Run } from './attempt.ts'
import type { Subscriber } from './subscriber.ts'

/** For whom a job is run, and under which lease. */
type Terms = Pick<Run, 'subscriber' | 'isHeld'>

/** The run of a job that came from the ledger, with its receipt. */
export function claimedRun(job: ClaimedJob, { subscriber, isHeld }: Terms): Run {
  return {
    job: refOf(job),
    attempt: job.attempt,
    ageMs: job.ageMs,
    subscriber,
    epoch: job.epoch,
    // Also with fence 1: a claim that a crash of the server has undone may have had the same fence,
    // and its run may have recorded something since; see docs/decisions/0011.
    isFirst: false,
    lastStep: job.lastStep ?? undefined,
    lane: job.lane ?? undefined,
    isHeld,
    event: () => readEvent(job, subscriber),
    interruption: new Interruption(),
  }
}

/**
 * The run of a job that this process has just accepted. Its event is at hand. Its fence reached the
 * disk with its receipt, so no other run can have the same.
 */
export function bornLeasedRun(job: JobRef, event: () => Event, { subscriber, isHeld }: Terms): Run {
  return {
    job,
    attempt: 1,
    ageMs: 0,
    subscriber,
    epoch: 0,
    isFirst: true,
    lastStep: undefined,
    lane: undefined,
    isHeld,
    event,
    interruption: new Interruption(),
  }
}

function readEvent(job: ClaimedJob, subscriber: Subscriber): Event {
  const identity = {
    key: job.eventKey,
    type: job.eventType,
    objectId: job.objectId ?? undefined,
    occurredAtMs: job.occurredAtMs ?? undefined,
  }
  return recordedEvent(subscriber.source, identity, new ClaimedReceipt(job, subscriber))
}

/** The receipt as it was claimed. Its body is decoded for who looks at it. */
class ClaimedReceipt implements Recorded {
  readonly receiptId: string
  readonly tenant: string
  readonly source: string
  readonly receivedAt: Date
  readonly headers: string
  readonly #encoded: string
  #body: Buffer | undefined

  constructor(job: ClaimedJob, { tenant, sourceName }: Subscriber) {
    const { receiptId, receivedAtMs, headers, body, largeBody } = job
    if ((body === null && largeBody === null) || headers === null)
      throw new HookonceError('BODY_EXPIRED', `the body of receipt ${receiptId} is gone`)
    this.receiptId = receiptId
    this.tenant = tenant
    this.source = sourceName
    this.receivedAt = new Date(receivedAtMs)
    this.headers = headers
    this.#encoded = body ?? ''
    this.#body = largeBody ?? undefined
  }

  get body(): Buffer {
    this.#body ??= bytesOf(this.#encoded)
    return this.#body
  }
}

function refOf({ shard, receiptId, subscriber, fence }: JobRef): JobRef {
  return { shard, receiptId, subscriber, fence }
}
