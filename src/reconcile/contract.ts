import type { ProviderApi } from './api.ts'

/** The headers and the body of the event's delivery, as far as the API shows them. */
export interface ListedDelivery {
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
}

/** One event of the provider's list. */
export interface ListedEvent {
  /** The event key of its delivery. For a changed object: a key derived from object and version. */
  readonly key: string
  readonly type: string
  readonly occurredAtMs: number
  /** Reads headers and body. Undefined if the provider no longer has them. */
  read(): Promise<ListedDelivery | undefined>
}

/** An object that changed, for providers that list objects instead of events. */
export interface ChangedObject {
  readonly objectId: string
  /** Only events about this object count whose type begins with this text. */
  readonly typePrefix: string
  readonly changedAtMs: number
  /** The missing event of the ledger. Undefined if no wanted event is missing. */
  missing(known: KnownTypes, wants: (type: string) => boolean): ListedEvent | undefined
}

/** The time of the latest event of each type about an object in the ledger. */
export type KnownTypes = ReadonlyMap<string, number>

/** The selection of events to list. */
export interface ListWindow {
  readonly sinceMs: number
  readonly untilMs: number
  /** The wanted event types, if all of them are full names. Some APIs can filter by them. */
  readonly types: readonly string[] | undefined
  wants(type: string): boolean
}

/** A list that is being read. Pages are read one at a time. */
export interface OpenList {
  /** Remarks about this list for the report. */
  readonly notes: readonly string[]
  /** Whether the provider sends this type to this receiver. Undefined if that is unknown. */
  readonly sends?: ((type: string) => boolean) | undefined
  readonly pages:
    | { readonly of: 'events'; readonly read: () => AsyncIterable<readonly ListedEvent[]> }
    | { readonly of: 'objects'; readonly read: () => AsyncIterable<readonly ChangedObject[]> }
}

/** How to read one provider's list of events. */
export interface ProviderList<Options> {
  readonly name: string
  /** The default URL of the API. */
  apiUrl(options: Options): string
  headers(options: Options): Readonly<Record<string, string>>
  /** How far back the list of the provider goes. Undefined: there is no limit. */
  readonly listsMs: number | undefined
  /**
   * 'record': the list has the keys of the deliveries, so recording is safe. 'report': it lacks
   * them, so recording must be requested.
   */
  readonly defaultMode: 'record' | 'report'
  /** A younger change is not recorded, because its delivery may still arrive under another key. */
  readonly settlesMs: number
  /** The options to pass if subscribers accept every type: the list has types that are not sent. */
  readonly narrowBy: string | undefined
  open(api: ProviderApi, window: ListWindow, options: Options): Promise<OpenList>
}

/** A source whose listed events can be recorded. The receiver provides it. */
export interface RecordedSource {
  readonly name: string
  readonly provider: string
  readonly tenant: string
  /** How long the ledger keeps its event keys. */
  readonly keySeconds: number
  placeOf(eventKey: string): { readonly shard: number; readonly id: string }
  wants(type: string): boolean
  record(
    event: ListedDelivery & { readonly key: string; readonly readAt: Date },
  ): Promise<'recorded' | 'duplicate' | 'unwanted'>
}
