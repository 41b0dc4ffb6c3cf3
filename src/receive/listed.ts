import type { Head } from '../delivery/request.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { HookonceError } from '../model/errors.ts'
import { shardOf } from '../model/receipt-id.ts'
import { NO_SECRET } from '../model/reconciled.ts'
import type { Acceptor } from './accept.ts'
import { arrivals } from './arrival.ts'
import { type KnownSource, knownSource, type SubscribedSource } from './source.ts'

/** An event that the provider's API listed, with the contents of its delivery. */
export interface ListedArrival {
  /** Its key in the list. */
  readonly key: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
  /** When the API was read. */
  readonly readAt: Date
}

/**
 * Records events that the API of a provider listed, by the same steps as a delivery after its
 * verification: identify → accept. No signature is checked: TLS and a key authenticate the API.
 */
export interface ListedEvents {
  readonly name: string
  readonly provider: string
  readonly tenant: string
  readonly keySeconds: number
  /** The receipt id of the event with this key. */
  placeOf(eventKey: string): { readonly shard: number; readonly id: string }
  /** Whether an event of this type would be recorded. */
  wants(type: string): boolean
  record(arrival: ListedArrival): Promise<ListedOutcome>
}

/**
 * `duplicate`: the event arrived meanwhile, and nothing has changed. `unwanted`: every filter
 * refuses it.
 */
export type ListedOutcome = 'recorded' | 'duplicate' | 'unwanted'

interface ListedOptions {
  readonly ledger: Pick<LedgerTables, 'shards'>
  readonly acceptor: Acceptor
  readonly sources: readonly SubscribedSource[]
}

/** Returns the entry for listed events of a source, by the source's name. */
export function listedEvents(options: ListedOptions): (sourceName: string) => ListedEvents | undefined {
  const { acceptor, ledger } = options
  const arrivalOf = arrivals(ledger.shards)
  const sources = new Map(options.sources.map((source) => [source.name, source]))

  function wants({ source, subscribersOf }: KnownSource, type: string): boolean {
    return source.unwanted === 'record' || subscribersOf(type).length > 0
  }

  async function record(
    known: KnownSource,
    { key, headers, body, readAt }: ListedArrival,
  ): Promise<ListedOutcome> {
    const head = headOf(known.name, headers)
    const delivery = { ...head, body, receivedAtMs: readAt.getTime() }
    const event = known.source.identify(delivery)
    if (!event.ok) throw new HookonceError(event.code, `event ${key} of the list: ${event.detail}`)
    // If the key differed, a delivery of the event would be recorded a second time.
    if (event.key !== key || event.unread)
      throw new HookonceError(
        'EVENT_KEY_MISSING',
        `the list has the event ${key}, but source "${known.name}" reads the key ${event.key} from it`,
      )
    const request = { head, source: known, startedAt: performance.now(), secret: NO_SECRET }
    const candidates = known.subscribersOf(event.type)
    const arrival = arrivalOf(request, { delivery, event, candidates })
    if (arrival.subscribers.length === 0 && known.source.unwanted === 'ignore') return 'unwanted'
    const outcome = await acceptor.accept(arrival)
    return outcome === 'recorded' ? 'recorded' : 'duplicate'
  }

  return (sourceName) => {
    const found = sources.get(sourceName)
    if (!found) return undefined
    const known = knownSource(found)
    return {
      name: known.ledgerName,
      provider: known.source.provider,
      tenant: known.source.tenant,
      keySeconds: known.keySeconds,
      placeOf(eventKey) {
        const id = known.receiptId(eventKey)
        return { id, shard: shardOf(id, ledger.shards) }
      },
      wants: (type) => wants(known, type),
      record: (arrival) => record(known, arrival),
    }
  }
}

/** Headers are stored as lines, so a header that would break its line is omitted. */
function headOf(sourceName: string, headers: ListedArrival['headers']): Head {
  const safe = headers.filter(([name, value]) => !/[\u0000-\u001f:]/.test(name) && !/[\0\r\n]/.test(value))
  return {
    sourceName,
    method: 'POST',
    url: '/',
    headerPairs: safe.flat(),
    peerAddress: () => undefined,
    header: (name) => safe.find(([each]) => each.toLowerCase() === name)?.[1],
  }
}
