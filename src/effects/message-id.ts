import { createHash } from 'node:crypto'

export interface MessageStep {
  readonly receiptId: string
  /** The subscriber's name. */
  readonly subscriber: string
  readonly epoch: number
}

/** The id of the message at this place, counted from 0, of a step of a job. */
export function messageId(
  { receiptId, subscriber, epoch }: MessageStep,
  step: string,
  place: number,
): string {
  return uuid('message', receiptId, subscriber, step, String(place), String(epoch))
}

/** The lane of messages with the same topic and key. */
export function laneId(tenant: string, topic: string, key: string): string {
  return uuid('lane', tenant, topic, key)
}

/** Length-prefixed, so that ("a", "bc") and ("ab", "c") differ. */
function uuid(...parts: string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`)
  const hex = hash.digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
