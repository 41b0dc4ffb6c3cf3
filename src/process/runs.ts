import type { ClaimedJob } from '../ledger/claim-jobs.ts'
import { bytesOf } from '../ledger/escaped-bytes.ts'
import type { JobRef } from '../ledger/job-ref.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { recordedEvent } from '../sources/event.ts'
import { interruption } from '../work/interruption.ts'
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
    lastStep: job.lastStep ?? undefined,
    lane: job.lane ?? undefined,
    isHeld,
    event: () => readEvent(job, subscriber),
    interruption: interruption(),
  }
}

/** The run of a job that this process has just accepted: it has no history, and its event is at hand. */
export function bornLeasedRun(job: JobRef, event: () => Event, { subscriber, isHeld }: Terms): Run {
  return {
    job,
    attempt: 1,
    ageMs: 0,
    subscriber,
    epoch: 0,
    lastStep: undefined,
    lane: undefined,
    isHeld,
    event,
    interruption: interruption(),
  }
}

function readEvent(job: ClaimedJob, subscriber: Subscriber): Event {
  const { body, headers } = job
  if (body === null || headers === null) {
    throw new HookonceError('BODY_EXPIRED', `the body of receipt ${job.receiptId} is gone`)
  }
  let bytes: Buffer | undefined
  const identity = {
    key: job.eventKey,
    type: job.eventType,
    objectId: job.objectId ?? undefined,
    occurredAtMs: job.occurredAtMs ?? undefined,
  }
  return recordedEvent(subscriber.source, identity, {
    receiptId: job.receiptId,
    tenant: subscriber.tenant,
    source: subscriber.sourceName,
    receivedAt: new Date(job.receivedAtMs),
    headers,
    get body() {
      bytes ??= bytesOf(body)
      return bytes
    },
  })
}

function refOf({ shard, receiptId, subscriber, fence }: JobRef): JobRef {
  return { shard, receiptId, subscriber, fence }
}
