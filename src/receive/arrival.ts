import type { VerifiedRequest } from '../delivery/request.ts'
import type { Event } from '../model/event.ts'
import { shardOf } from '../model/receipt-id.ts'
import { NO_SECRET, RECONCILED_HEADER } from '../model/reconciled.ts'
import type { Delivery, Identified } from '../sources/contract.ts'
import { eventOf, type Identity, type Recorded, recordedEvent } from '../sources/event.ts'
import { headerLines } from '../sources/headers.ts'
import type { Arrival } from './accept.ts'
import type { KnownSource } from './source.ts'

interface WantedEvent {
  readonly delivery: Delivery
  readonly event: Identified
  /** The subscribers of its type. */
  readonly candidates: readonly number[]
}

/** Makes the receipt of an event, ready to be accepted. */
export function arrivals(
  shards: number,
): (request: VerifiedRequest<KnownSource>, wanted: WantedEvent) => Arrival {
  return ({ head, source, secret }, { delivery, event, candidates }) => {
    const id = source.receiptId(event.key)
    const { redaction } = source.source
    const receipt = {
      id,
      shard: shardOf(id, shards),
      tenant: source.source.tenant,
      source: source.ledgerName,
      eventKey: event.key,
      eventType: event.type,
      objectId: redaction?.hidesObjectId ? undefined : event.objectId,
      occurredAtMs: event.occurredAtMs,
      secret,
      headers: headerLines(head.headerPairs, source.source) + reconciledLine(secret, delivery),
      body: redaction ? redaction.body(delivery) : delivery.body,
      keySeconds: source.keySeconds,
    }
    const recorded = (): Recorded => recordedOf(receipt, delivery.receivedAtMs)
    // The handler gets the redacted event, because a retry or a replay could not get the hidden
    // values.
    const read = redaction
      ? (): Event => recordedEvent(source.source, storedIdentity(event, receipt), recorded())
      : (): Event => eventOf(event, recorded())
    const subscribers = source.wantedBy?.(candidates, read) ?? candidates
    return { receipt, subscribers, orderKeys: source.orderKeysOf?.(subscribers, read), event: read }
  }
}

/** The mark of an event that the provider's API listed. Headers of deliveries cannot set it. */
function reconciledLine(secret: number, { receivedAtMs }: Delivery): string {
  return secret === NO_SECRET ? `${RECONCILED_HEADER}: ${new Date(receivedAtMs).toISOString()}\n` : ''
}

function recordedOf(receipt: Arrival['receipt'], receivedAtMs: number): Recorded {
  const { id: receiptId, tenant, source, headers, body } = receipt
  return { receiptId, tenant, source, receivedAt: new Date(receivedAtMs), headers, body }
}

function storedIdentity(event: Identified, { objectId }: Arrival['receipt']): Identity {
  const { key, type, occurredAtMs } = event
  return { key, type, objectId, occurredAtMs }
}
