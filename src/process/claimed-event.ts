import { bytesOf } from '../ledger/driver/escaped-bytes.ts'
import type { ClaimedJob } from '../ledger/jobs/claim.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { sourceNameOf } from '../model/source-key.ts'
import { type Recorded, recordedEvent } from '../sources/event.ts'
import type { Subscriber } from './subscriber.ts'

/** Decodes the event of a claimed job. Throws if the stored body is gone or unreadable. */
export function claimedEvent(job: ClaimedJob, subscriber: Subscriber): Event {
  const identity = {
    key: job.eventKey,
    type: job.eventType,
    objectId: job.objectId ?? undefined,
    occurredAtMs: job.occurredAtMs ?? undefined,
  }
  return recordedEvent(subscriber.source, identity, new ClaimedReceipt(job, subscriber))
}

/** The receipt as it was claimed. Its body is decoded on first use. */
class ClaimedReceipt implements Recorded {
  readonly receiptId: string
  readonly tenant: string
  readonly source: string
  readonly receivedAt: Date
  readonly headers: string
  readonly #encoded: string
  #body: Buffer | undefined

  constructor(job: ClaimedJob, { tenant, sourceName }: Subscriber) {
    const { receiptId, receivedAtMs, headers, body, largeBody, unreadable } = job
    if (unreadable) throw unreadable
    if ((body === null && largeBody === null) || headers === null)
      throw new HookonceError('BODY_EXPIRED', `the body of receipt ${receiptId} was deleted by retention`)
    this.receiptId = receiptId
    this.tenant = tenant
    this.source = sourceNameOf(sourceName)
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
