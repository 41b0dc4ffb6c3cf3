import type { VerifiedRequest } from '../delivery/request.ts'
import type { Event } from '../model/event.ts'
import { shardOf } from '../model/receipt-id.ts'
import type { Delivery, Identified } from '../sources/contract.ts'
import { eventOf, type Recorded } from '../sources/event.ts'
import { headerLines } from '../sources/headers.ts'
import type { Arrival } from './accept.ts'
import type { KnownSource } from './source.ts'

interface WantedEvent {
  readonly delivery: Delivery
  readonly event: Identified
  readonly subscribers: readonly number[]
}

/** Makes the receipt of an event, ready to be accepted. */
export function arrivals(
  shards: number,
): (request: VerifiedRequest<KnownSource>, wanted: WantedEvent) => Arrival {
  return ({ head, source, secret }, { delivery, event, subscribers }) => {
    const id = source.receiptId(event.key)
    const receipt = {
      id,
      shard: shardOf(id, shards),
      tenant: source.source.tenant,
      source: source.name,
      eventKey: event.key,
      eventType: event.type,
      objectId: event.objectId,
      occurredAtMs: event.occurredAtMs,
      secret,
      headers: headerLines(head.headerPairs, source.source),
      body: delivery.body,
      keySeconds: source.keySeconds,
    }
    const read = (): Event => eventOf(event, recordedOf(receipt, delivery.receivedAtMs))
    return { receipt, subscribers, orderKeys: source.orderKeysOf?.(subscribers, read), event: read }
  }
}

function recordedOf(receipt: Arrival['receipt'], receivedAtMs: number): Recorded {
  const { id: receiptId, tenant, source, headers, body } = receipt
  return { receiptId, tenant, source, receivedAt: new Date(receivedAtMs), headers, body }
}
