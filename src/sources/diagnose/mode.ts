import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { textAt, valueAt } from '../schemes/locate.ts'
import { bodyParser } from '../schemes/payload.ts'

/** Fields in which payloads mark test events. */
const TEST_FLAGS = [
  'json:test_mode',
  'json:meta.test_mode',
  'json:test',
  'json:is_test',
  'json:sandbox',
] as const
const LIVE_FLAGS = ['json:livemode', 'json:live_mode', 'json:live'] as const
const ENVIRONMENT = ['json:environment', 'json:data.environment', 'json:mode'] as const

/**
 * Guesses the mode of an event from its payload. The guess is not proven, and only suggests which
 * secret is missing.
 */
export function modeOf(delivery: Delivery, { body }: CheckedDescription): string | undefined {
  const payload = bodyParser(body)(delivery)
  if (payload === undefined) return undefined
  const test = flag(valueAt(TEST_FLAGS)(delivery, payload))
  const live = flag(valueAt(LIVE_FLAGS)(delivery, payload))
  const environment = textAt(ENVIRONMENT)(delivery, payload)?.toLowerCase()
  if (test === true || live === false || environment === 'test' || environment === 'sandbox')
    return 'the event is marked as test mode; check whether the secret is that of the live mode'
  if (test === false || live === true || environment === 'live' || environment === 'production')
    return 'the event is marked as live mode; check whether the secret is that of the test mode'
  return undefined
}

function flag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value
  return value === 'true' ? true : value === 'false' ? false : undefined
}
