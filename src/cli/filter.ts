import { sourceNameOf, tenantOf } from '../model/source-key.ts'
import type { EventFilter } from '../operate/events.ts'
import { requireKnown, requireTenant } from '../operate/sources.ts'
import { type Command, parseTime, usageError } from './command.ts'
import type { Ledgers } from './open-ledger.ts'

/** Options that filter the lists of `events` and `failures`. */
export const filterOptions = {
  tenant: { type: 'string' },
  source: { type: 'string' },
  subscriber: { type: 'string' },
  type: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
} as const

interface FilterValues extends SourceValues {
  readonly subscriber?: string | undefined
  readonly type?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

export function parseFilter(
  command: Pick<Command, 'usage'>,
  { subscriber, type, since, until, ...place }: FilterValues,
): Omit<EventFilter, 'state'> {
  return {
    ...parseSource(command, place),
    subscriber,
    type,
    since: since === undefined ? undefined : parseTime(command, since),
    until: until === undefined ? undefined : parseTime(command, until),
  }
}

interface SourceValues {
  readonly tenant?: string | undefined
  readonly source?: string | undefined
}

/** `acme/github` is the source `github` of tenant `acme`, as in a gateway's configuration. */
export function parseSource(
  command: Pick<Command, 'usage'>,
  { tenant, source }: SourceValues,
): { readonly tenant: string | undefined; readonly source: string | undefined } {
  const named = source === undefined ? undefined : tenantOf(source)
  if (source === undefined || named === undefined) return { tenant, source }
  if (tenant !== undefined && tenant !== named)
    throw usageError(command, `"${source}" is a source of tenant "${named}", and --tenant is "${tenant}"`)
  return { tenant: named, source: sourceNameOf(source) }
}

/** Rejects names that do not exist in the ledger. */
export async function requireNames(
  ledger: Ledgers,
  filter: Pick<EventFilter, 'tenant' | 'source' | 'subscriber'>,
): Promise<void> {
  await requireTenant(ledger, filter.tenant)
  await requireKnown(ledger, filter)
}
