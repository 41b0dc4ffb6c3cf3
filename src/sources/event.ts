import type { Event } from '../model/event.ts'
import { type Version, versionOf } from '../model/version.ts'
import type { Delivery, Identified } from './contract.ts'
import { headerLookup, headerRecord } from './headers.ts'

/** What a receipt adds to what the delivery says of itself. */
export interface Recorded {
  readonly receiptId: string
  readonly tenant: string
  readonly source: string
  readonly receivedAt: Date
  readonly headers: string
  readonly body: Uint8Array
}

/** The event as a handler sees it. */
export function eventOf(identified: Identified, recorded: Recorded): Event {
  return {
    receiptId: recorded.receiptId,
    tenant: recorded.tenant,
    source: recorded.source,
    key: identified.key,
    type: identified.type,
    objectId: identified.objectId,
    occurredAt: identified.occurredAtMs === undefined ? undefined : new Date(identified.occurredAtMs),
    get version() {
      return versionFrom(identified)
    },
    receivedAt: recorded.receivedAt,
    payload: identified.payload,
    object: identified.object,
    body: recorded.body,
    get headers() {
      return headerRecord(recorded.headers)
    },
  }
}

function versionFrom({ version, occurredAtMs }: Identified): Version | undefined {
  if (version !== undefined || occurredAtMs === undefined) return version
  return versionOf(new Date(occurredAtMs))
}

/** A recorded delivery, to be identified again by whoever processes it. It was verified when it was received. */
export function recordedDelivery(recorded: Recorded): Delivery {
  return {
    method: 'POST',
    url: '/',
    header: headerLookup(recorded.headers),
    body: recorded.body,
    receivedAtMs: recorded.receivedAt.getTime(),
  }
}
