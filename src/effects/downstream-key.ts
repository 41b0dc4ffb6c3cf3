import { createHash } from 'node:crypto'

/*
 * The keys that are handed downstream. They are made of what does not change between attempts and replays; never
 * of an attempt number, and never of a key that a client supplied. The epoch is raised only when the next call is
 * meant to be another one.
 */

export interface StepName {
  readonly receiptId: string
  readonly subscriber: string
  readonly name: string
  readonly epoch: number
}

export function downstreamKey({ receiptId, subscriber, name, epoch }: StepName): string {
  return keyOf(['hookonce', receiptId, subscriber, name, String(epoch)])
}

export interface EffectName {
  readonly tenant: string
  readonly key: string
  readonly epoch: number
}

/** Without a receipt in it: two events that want the same effect hand the same key downstream. */
export function effectDownstreamKey({ tenant, key, epoch }: EffectName): string {
  return keyOf(['hookonce', tenant, key, String(epoch)])
}

function keyOf(parts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`)
  return hash.digest('hex').slice(0, 40)
}
