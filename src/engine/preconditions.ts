import { whyEphemeral } from '../ledger/embedded/ephemeral.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { HookonceError } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'
import type { CheckedOptions } from '../options.ts'

/**
 * With NODE_ENV=production an embedded ledger must be requested explicitly: otherwise a forgotten
 * DATABASE_URL would go unnoticed.
 */
export function requireDatabase({ database, dir }: CheckedOptions): void {
  if (database !== undefined || process.env.NODE_ENV !== 'production') return
  const ways =
    'pass `database: process.env.DATABASE_URL` (on the command line: set DATABASE_URL) with a postgres:// URL'
  throw new HookonceError(
    'CONFIG_INVALID',
    `NODE_ENV is "production", and no database is given: ${ways}, or pass 'embedded' to keep the ledger in an embedded PostgreSQL under ${dir}`,
  )
}

/** Without a subscriber, the events of a source would be acknowledged and forgotten. */
export function requireSubscribers(options: CheckedOptions, subscribed: ReadonlySet<string>): void {
  for (const [name, source] of Object.entries(options.sources)) {
    if (source.unwanted === 'record' || subscribed.has(name)) continue
    throw new HookonceError(
      'SUBSCRIBER_MISSING',
      `no handler subscribes to source "${name}": its events would be ignored`,
    )
  }
}

export async function warnOfEphemeral({ dataDir }: Ledger, observer: Observer): Promise<void> {
  const why = dataDir === undefined ? undefined : await whyEphemeral(dataDir)
  if (why === undefined) return
  observer.warning?.({
    message: 'the embedded ledger is in a temporary folder: acknowledged events are lost with it',
    detail: `${why}: set \`dir\` (--dir) to a folder that stays, or \`database\` (DATABASE_URL) to a postgres:// URL`,
  })
}
