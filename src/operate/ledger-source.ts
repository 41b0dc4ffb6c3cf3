import { type UnattendedSubscriber, unattendedSubscribers } from '../ledger/jobs/served.ts'
import {
  orderedSubscribers,
  type SourceRow,
  sourcesNamed,
  subscribersOf,
} from '../ledger/jobs/subscribers.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { HookonceError } from '../model/errors.ts'
import { interestOf } from '../model/interest.ts'
import type { Observer } from '../observe/observer.ts'
import { acceptor, type HandOff } from '../receive/accept.ts'
import { type ListedEvents, listedEvents } from '../receive/listed.ts'
import type { Source } from '../sources/contract.ts'
import { whereSource } from './across.ts'

/** A source whose subscribers are read from the ledger, because their app does not run here. */
export interface LedgerSource {
  /** The ledger that has the source. */
  readonly ledger: LedgerTables
  readonly entry: ListedEvents
  /** Subscribers whose jobs would wait, because no running worker serves them. */
  readonly unattended: readonly UnattendedSubscriber[]
  /** Resolves when everything is recorded in the ledger. */
  idle(): Promise<void>
}

interface LedgerSourceQuestion {
  readonly name: string
  /** Undefined: the only tenant that has a source of this name. */
  readonly tenant?: string | undefined
  /** Makes the source for a tenant. */
  make(tenant: string): Promise<Source>
  readonly observer: Observer
}

/** This process runs no jobs. The workers of the app run them. */
const NO_WORKER: HandOff = {
  worker: undefined,
  reserve: () => false,
  release: () => undefined,
  run: () => undefined,
  wake: () => undefined,
}

async function sourceIn(
  ledger: LedgerTables,
  { name, tenant: wanted, make, observer }: LedgerSourceQuestion,
): Promise<LedgerSource> {
  const { tenant, keySeconds } = onlyTenant(name, wanted, await sourcesNamed(ledger.pool, name))
  const known = await subscribersOf(ledger.pool, tenant, name)
  const ids = known.map(({ id }) => id)
  const ordered = await orderedSubscribers(ledger.pool, ids)
  if (ordered.length > 0)
    throw new HookonceError(
      'CONFIG_INVALID',
      `only the app knows the order keys of ${ordered.map((each) => `"${each}"`).join(', ')}: call hooks.reconcile('${name}', …) in the app`,
    )
  const accepting = acceptor(ledger, NO_WORKER, observer)
  const filtered = known.filter(({ pattern }) => interestOf(pattern).isFiltered)
  if (filtered.length > 0)
    throw new HookonceError(
      'CONFIG_INVALID',
      `only the app knows the filters of ${filtered.map((each) => `"${each.name}"`).join(', ')}: call hooks.reconcile('${name}', …) in the app, or name the gateway's configuration with --config`,
    )
  const subscribers = known.map(({ id, pattern }) => ({ id, matches: interestOf(pattern).wantsType }))
  const source = await make(tenant)
  const entry = listedEvents({
    ledger,
    acceptor: accepting,
    sources: [{ name, source, keySeconds, subscribers }],
  })(name)
  if (!entry) throw new Error(`source ${name} was not found under its own name`)
  return {
    ledger,
    entry,
    unattended: await unattendedSubscribers(ledger.pool, ids),
    idle: () => accepting.idle(),
  }
}

export const ledgerSource = whereSource(([{ name: source, tenant }]) => ({ source, tenant }), sourceIn)

function onlyTenant(name: string, wanted: string | undefined, all: readonly SourceRow[]): SourceRow {
  const found = all.filter(({ tenant }) => wanted === undefined || tenant === wanted)
  const [only, another] = found
  if (only && !another) return only
  const tenants = all.map(({ tenant }) => tenant).join(', ')
  throw new HookonceError(
    'CONFIG_INVALID',
    another
      ? `several tenants have a source "${name}": pass one of ${tenants} with --tenant`
      : `the ledger knows no source "${name}"${wanted === undefined ? '' : ` of tenant "${wanted}"`}: run the app or \`hookonce serve\` once, or name a configuration with --config`,
  )
}
