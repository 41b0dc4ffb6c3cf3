import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { type Version, versionOf } from '../model/version.ts'
import type { Delivery, Identified, Source } from './contract.ts'
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

/** Who an event is. */
export type Identity = Pick<Identified, 'key' | 'type' | 'objectId' | 'occurredAtMs'>

/** The event as a handler sees it. */
export function eventOf(identified: Omit<Identified, 'ok'>, recorded: Recorded): Event {
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
    get payload() {
      return identified.payload
    },
    get object() {
      return identified.object
    },
    get body() {
      return recorded.body
    },
    get headers() {
      return headerRecord(recorded.headers)
    },
  }
}

function versionFrom({
  version,
  occurredAtMs,
}: Pick<Identified, 'version' | 'occurredAtMs'>): Version | undefined {
  if (version !== undefined || occurredAtMs === undefined) return version
  return versionOf(new Date(occurredAtMs))
}

/**
 * The event of a receipt. Who it is was settled when it was recorded, whatever the source's description says today;
 * its payload is read from the recorded bytes when somebody looks at it. They were verified when they came.
 */
export function recordedEvent(source: Source, identity: Identity, recorded: Recorded): Event {
  let read: Identified | undefined
  function identified(): Identified {
    const again = read ?? source.identify(recordedDelivery(recorded))
    if (!again.ok) throw new HookonceError(again.code, again.detail)
    read = again
    return again
  }
  const lazily = {
    ...identity,
    get payload() {
      return identified().payload
    },
    get object() {
      return identified().object
    },
    get version() {
      return identified().version
    },
  }
  return eventOf(lazily, recorded)
}

function recordedDelivery(recorded: Recorded): Delivery {
  return {
    method: 'POST',
    url: '/',
    header: headerLookup(recorded.headers),
    body: recorded.body,
    receivedAtMs: recorded.receivedAt.getTime(),
  }
}
