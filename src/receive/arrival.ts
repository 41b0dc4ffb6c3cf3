import { randomUUID } from 'node:crypto'
import type { Event } from '../model/event.ts'
import { receiptIds, shardOf } from '../model/receipt-id.ts'
import type { Delivery, Identified } from '../sources/contract.ts'
import { eventOf, type Recorded } from '../sources/event.ts'
import { headerLines } from '../sources/headers.ts'
import type { Arrival } from './accept.ts'
import { type Lanes, lanesOf } from './lanes.ts'
import type { Head, ReceivingSource, Request } from './receive.ts'
import { wantingOf } from './wanting.ts'

/** A source with what is worked out of it once. */
export interface KnownSource extends ReceivingSource {
  receiptId(eventKey: string): string
  /** The ids of the subscribers that want events of this type. */
  wanting(type: string): readonly number[]
  readonly lanesOf: Lanes | undefined
}

export function knownSource(source: ReceivingSource): KnownSource {
  return {
    ...source,
    receiptId: receiptIds(source.source.tenant, source.name),
    wanting: wantingOf(source),
    lanesOf: lanesOf(source),
  }
}

interface Identity {
  readonly delivery: Delivery
  readonly event: Identified
  readonly subscribers: readonly number[]
}

/** The receipt of an event, ready to be accepted. */
export function arrivals(shards: number): (request: Request, identity: Identity) => Arrival {
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
    return { receipt, subscribers, lanes: source.lanesOf?.(subscribers, read), event: read }
  }
}

function recordedOf(receipt: Arrival['receipt'], receivedAtMs: number): Recorded {
  const { id: receiptId, tenant, source, headers, body } = receipt
  return { receiptId, tenant, source, receivedAt: new Date(receivedAtMs), headers, body }
}

/** The request with an id of ours: whatever the sender put under that name is gone. */
export function stamped(head: Head, name: string): Head {
  const stamp = randomUUID()
  const pairs: string[] = []
  for (let at = 0; at + 1 < head.headerPairs.length; at += 2) {
    const [header = '', value = ''] = head.headerPairs.slice(at, at + 2)
    if (header.toLowerCase() !== name) pairs.push(header, value)
  }
  return {
    ...head,
    header: (header) => (header === name ? stamp : head.header(header)),
    headerPairs: [...pairs, name, stamp],
  }
}
