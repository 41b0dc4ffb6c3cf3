import { createHash } from 'node:crypto'

/**
 * The key that a step hands downstream. It is made of what does not change between attempts and replays; never
 * of an attempt number, and never of a key that a client supplied. The epoch is raised only by a replay that
 * asks for everything to happen anew.
 */
export interface StepName {
  readonly receiptId: string
  readonly subscriber: string
  readonly name: string
  readonly epoch: number
}

export function downstreamKey({ receiptId, subscriber, name, epoch }: StepName): string {
  const parts = ['hookonce', receiptId, subscriber, name, String(epoch)]
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`)
  return hash.digest('hex').slice(0, 40)
}
