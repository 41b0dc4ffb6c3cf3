import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { type Version, versionOf } from '../model/version.ts'
import type { Delivery, Identified, Source } from './contract.ts'
import { headerLookup, headerRecord, withoutSecrets } from './headers.ts'

/** The fields that a receipt adds to the identity of an event. */
export interface Recorded {
  readonly receiptId: string
  readonly tenant: string
  readonly source: string
  readonly receivedAt: Date
  readonly headers: string
  readonly body: Uint8Array
}

/** The fields that identify an event. */
export type Identity = Pick<Identified, 'key' | 'type' | 'objectId' | 'occurredAtMs'>

/** The event in the form that a handler receives. */
export function eventOf(identified: Omit<Identified, 'ok'>, recorded: Recorded): Event {
  return new RecordedEvent(identified, recorded)
}

/*
 * Expensive properties are computed on access. They are still own properties, so the event can be
 * spread and logged like a plain object. All events share the accessor functions, because objects
 * with their own accessors are slow to create and to collect.
 */
class RecordedEvent implements Event {
  readonly receiptId: string
  readonly tenant: string
  readonly source: string
  readonly key: string
  readonly type: string
  readonly objectId: string | undefined
  readonly occurredAt: Date | undefined
  readonly receivedAt: Date
  declare readonly version: Version | undefined
  declare readonly payload: unknown
  declare readonly object: unknown
  declare readonly body: Uint8Array
  declare readonly headers: Readonly<Record<string, string>>
  readonly #identified: Omit<Identified, 'ok'>
  readonly #recorded: Recorded

  constructor(identified: Omit<Identified, 'ok'>, recorded: Recorded) {
    this.receiptId = recorded.receiptId
    this.tenant = recorded.tenant
    this.source = recorded.source
    this.key = identified.key
    this.type = identified.type
    this.objectId = identified.objectId
    this.occurredAt = identified.occurredAtMs === undefined ? undefined : new Date(identified.occurredAtMs)
    this.receivedAt = recorded.receivedAt
    this.#identified = identified
    this.#recorded = recorded
    for (const [name, accessor] of RecordedEvent.#LAZY) Object.defineProperty(this, name, accessor)
  }

  static readonly #LAZY = Object.entries({
    version: lazily((event: RecordedEvent) => versionFrom(event.#identified)),
    payload: lazily((event: RecordedEvent) => event.#identified.payload),
    object: lazily((event: RecordedEvent) => event.#identified.object),
    body: lazily((event: RecordedEvent) => event.#recorded.body),
    headers: lazily((event: RecordedEvent) => headerRecord(event.#recorded.headers)),
  })
}

function lazily(read: (event: RecordedEvent) => unknown): PropertyDescriptor {
  return {
    enumerable: true,
    get(this: RecordedEvent) {
      return read(this)
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
 * The event of a receipt. Its identity was fixed when it was recorded, even if the source's
 * description has changed since. Its payload is parsed from the recorded bytes on access. The bytes
 * were verified on arrival.
 */
export function recordedEvent(source: Source, identity: Identity, recorded: Recorded): Event {
  const read = new StoredIdentity(source, identity, recorded)
  if (source.withholds === undefined) return eventOf(read, recorded)
  return eventOf(read, { ...recorded, headers: withoutSecrets(recorded.headers, source) })
}

class StoredIdentity implements Omit<Identified, 'ok'> {
  readonly key: string
  readonly type: string
  readonly objectId: string | undefined
  readonly occurredAtMs: number | undefined
  readonly #source: Source
  readonly #recorded: Recorded
  #read: Identified | undefined

  constructor(source: Source, { key, type, objectId, occurredAtMs }: Identity, recorded: Recorded) {
    this.key = key
    this.type = type
    this.objectId = objectId
    this.occurredAtMs = occurredAtMs
    this.#source = source
    this.#recorded = recorded
  }

  get payload(): unknown {
    return this.#identified().payload
  }

  get object(): unknown {
    return this.#identified().object
  }

  get version(): Version | undefined {
    return this.#identified().version
  }

  #identified(): Identified {
    if (this.#read) return this.#read
    const read = this.#source.identify(recordedDelivery(this.#recorded))
    if (!read.ok) throw new HookonceError(read.code, read.detail)
    this.#read = read
    return read
  }
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
