import { HookonceError } from '../model/errors.ts'
import { type FindQuery, namedEvents } from '../operate/events.ts'
import type { Ledgers } from './open-ledger.ts'

/**
 * The receipt with this id, or an id that begins with it, or with this event key. Throws unless
 * exactly one matches: commands that change an event must not guess.
 */
export async function requireReceipt(
  ledger: Ledgers,
  text: string,
  place: Pick<FindQuery, 'tenant' | 'source'> = {},
): Promise<string> {
  const [found, another] = await namedEvents(ledger, text, { ...place, limit: 2 })
  if (!found) throw new HookonceError('RECEIPT_UNKNOWN', `no event has the receipt id or event key "${text}"`)
  if (another)
    throw new HookonceError(
      'CONFIG_INVALID',
      `more than one event matches "${text}": \`hookonce show\` lists them; give the id of one receipt`,
    )
  return found.id
}
