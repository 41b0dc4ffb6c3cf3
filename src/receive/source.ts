import type { GuardedSource } from '../delivery/guard.ts'
import { receiptIds } from '../model/receipt-id.ts'
import { sourceNameOf } from '../model/source-key.ts'
import { type FilteringSubscriber, wantedBy } from './filters.ts'
import { type OrderedSubscriber, orderKeysOf } from './order-keys.ts'
import { subscribersByType, type TypeSubscriber } from './subscribers-by-type.ts'

/** A source with its subscribers, as passed to the receiver. */
export interface SubscribedSource extends GuardedSource {
  /** How long the keys of its events are kept. */
  readonly keySeconds: number
  readonly subscribers: readonly (TypeSubscriber & FilteringSubscriber & OrderedSubscriber)[]
}

/** A source with values that are computed once. */
export interface KnownSource extends GuardedSource {
  /** The name of the source in the ledger. */
  readonly ledgerName: string
  readonly keySeconds: number
  receiptId(eventKey: string): string
  /** The ids of the subscribers of this type. */
  subscribersOf(type: string): readonly number[]
  readonly wantedBy: ReturnType<typeof wantedBy>
  readonly orderKeysOf: ReturnType<typeof orderKeysOf>
}

export function knownSource(given: SubscribedSource): KnownSource {
  const { name, source, guard, keySeconds, subscribers } = given
  const ledgerName = sourceNameOf(name)
  return {
    name,
    source,
    guard,
    ledgerName,
    keySeconds,
    receiptId: receiptIds(source.tenant, ledgerName),
    subscribersOf: subscribersByType(subscribers),
    wantedBy: wantedBy(subscribers),
    orderKeysOf: orderKeysOf(subscribers),
  }
}
