import { receiptIds } from '../model/receipt-id.ts'
import type { NamedSource } from '../sources/contract.ts'
import { type OrderedSubscriber, orderKeysOf } from './order-keys.ts'
import { subscribersByType, type TypeSubscriber } from './subscribers-by-type.ts'

/** A source with its subscribers, as the receiver is given it. */
export interface SubscribedSource extends NamedSource {
  /** How long the keys of its events are kept. */
  readonly keySeconds: number
  readonly subscribers: readonly (TypeSubscriber & OrderedSubscriber)[]
}

/** A source with what is worked out for it once. */
export interface KnownSource extends NamedSource {
  readonly keySeconds: number
  receiptId(eventKey: string): string
  /** The ids of the subscribers that want events of this type. */
  subscribersOf(type: string): readonly number[]
  readonly orderKeysOf: ReturnType<typeof orderKeysOf>
}

export function knownSource({ name, source, keySeconds, subscribers }: SubscribedSource): KnownSource {
  return {
    name,
    source,
    keySeconds,
    receiptId: receiptIds(source.tenant, name),
    subscribersOf: subscribersByType(subscribers),
    orderKeysOf: orderKeysOf(subscribers),
  }
}
