import { createHash } from 'node:crypto'

/*
 * Idempotency keys for calls to other services. They are derived from values that stay the same
 * across attempts and replays: never from an attempt number, and never from a key that a client
 * supplied. The epoch is raised only when the next call is meant to be a different one.
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

/** Contains no receipt: two events that request the same effect send the same key. */
export function effectDownstreamKey({ tenant, key, epoch }: EffectName): string {
  return keyOf(['hookonce', tenant, key, String(epoch)])
}

function keyOf(parts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`)
  return hash.digest('hex').slice(0, 40)
}
