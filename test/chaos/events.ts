import { custom } from '../../src/sources/index.ts'
import { SENDER } from '../support/source.ts'
import { randomOf } from './random.ts'

/**
 * The sender of the tests, with a date in its signature, so that the clocks of both sides matter.
 */
export const DATED_SENDER = {
  ...SENDER,
  signature: { ...SENDER.signature, content: '{timestamp}.{body}' },
  timestamp: { at: 'header:test-timestamp', unit: 'ms' },
} as const

export const datedSource = () => custom({ ...DATED_SENDER, unwanted: 'record' })

const ENTITIES = 200

export const keyOf = (event: number): string => `evt_${event}`

/** The body of an event follows from its number, so that it need not be stored. */
export function payloadOf(seed: number, event: number) {
  // Two consecutive events are about the same object.
  const entity = randomOf(seed + ((event + 1) >> 1)).below(ENTITIES)
  return { id: keyOf(event), type: 'changed', entity: `entity_${entity}`, version: event }
}
