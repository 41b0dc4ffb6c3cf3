import { didYouMean } from '../input/closest.ts'
import { lastHeard } from '../ledger/alerts/readings.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { Ledgers } from '../ledger/ledger-set.ts'
import { type Backlog, tenantBacklog } from '../ledger/read/jobs.ts'
import { registered } from '../ledger/read/registered.ts'
import { type LatestEvent, latestOfSources } from '../ledger/read/source-events.ts'
import { HookonceError } from '../model/errors.ts'
import { IMPORTED } from '../model/reconciled.ts'
import { type KeyFinding, lintEventKeys } from '../upkeep/lint-event-keys.ts'
import { everywhere } from './across.ts'

export type { KeyFinding }

const registeredIn = everywhere(registered, (all) => all.flat())

/** The sources that the ledger knows. */
export async function sourceNames(ledger: Ledgers): Promise<string[]> {
  return [...new Set((await registeredIn(ledger)).map(({ source }) => source))]
}

/** The tenants that have a source. */
export async function tenantNames(ledger: Ledgers): Promise<string[]> {
  return [...new Set((await registeredIn(ledger)).map(({ tenant }) => tenant))]
}

/** The tenants that have a source of this name. */
export async function tenantsOf(ledger: Ledgers, source: string): Promise<string[]> {
  const named = (await registeredIn(ledger)).filter((one) => one.source === source)
  return [...new Set(named.map(({ tenant }) => tenant))]
}

/** A source, its health, and its latest events. */
export interface SourceHealth {
  readonly tenant: string
  readonly source: string
  /**
   * The first of these that applies. `paused`: the jobs of the source are held. `failing`: jobs
   * failed or wait for a decision. `unattended`: jobs wait, and no running worker serves them.
   */
  readonly health: 'paused' | 'failing' | 'unattended' | 'ok'
  readonly pausedAt: Date | null
  readonly waiting: number
  readonly retrying: number
  readonly failed: number
  readonly attention: number
  /** Age of the oldest job that is due. */
  readonly lagSeconds: number
  /**
   * The latest event of the source. Null: the source has none among the newest events of the
   * ledger.
   */
  readonly lastEvent: Pick<LatestEvent, 'id' | 'receivedAt' | 'eventType' | 'secret'> | null
  /**
   * The start of the ten minutes in which the last delivery arrived. Null: none arrived for about a
   * week.
   */
  readonly lastHeardAt: Date | null
  /** The secrets that matched recently, by position from 1. */
  readonly secrets: readonly { readonly secret: number; readonly lastAt: Date }[]
}

/** The number of newest receipts of each shard in which the last event of a source is searched. */
const LOOK_BACK = 100

async function sourcesIn(
  ledger: LedgerTables,
  { tenant }: { readonly tenant?: string | undefined } = {},
): Promise<SourceHealth[]> {
  const known = await registered(ledger)
  const jobs = await tenantBacklog(ledger.pool, ledger.shards)
  const latest = await latestOfSources(ledger.pool, ledger.shards, LOOK_BACK)
  const heard = await lastHeard(ledger.pool)
  return known
    .filter((one) => one.subscriber === null && (tenant ?? one.tenant) === one.tenant)
    .map(({ tenant, source, pausedAt }) => {
      const ofSource = jobs.filter((row) => row.tenant === tenant && row.source === source)
      const sum = (count: (row: Backlog) => number): number =>
        ofSource.reduce((all, row) => all + count(row), 0)
      const failed = sum((row) => row.failed)
      const attention = sum((row) => row.attention)
      const events = latest
        .filter((event) => event.tenant === tenant && event.source === source && event.secret !== IMPORTED)
        .sort((a, b) => b.receivedAt.getTime() - a.receivedAt.getTime())
      return {
        tenant,
        source,
        health: healthOf({
          pausedAt,
          troubled: failed + attention,
          unattended: sum((row) => row.unattended),
        }),
        pausedAt,
        waiting: sum((row) => row.waiting),
        retrying: sum((row) => row.retrying),
        failed,
        attention,
        lagSeconds: Math.max(0, ...ofSource.map((row) => row.lagSeconds)),
        lastEvent: events[0] ?? null,
        lastHeardAt: heard.find((one) => one.tenant === tenant && one.source === source)?.lastAt ?? null,
        secrets: events.map(({ secret, receivedAt: lastAt }) => ({ secret, lastAt })),
      }
    })
}

export const listSources = everywhere(sourcesIn, (all) => all.flat())

interface SourceState {
  readonly pausedAt: Date | null
  readonly troubled: number
  readonly unattended: number
}

function healthOf({ pausedAt, troubled, unattended }: SourceState): SourceHealth['health'] {
  if (pausedAt) return 'paused'
  if (troubled > 0) return 'failing'
  return unattended > 0 ? 'unattended' : 'ok'
}

export interface SourceFilter {
  /** The only visible tenant: names of other tenants count as unknown. Undefined: all tenants. */
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
}

/** Rejects names that do not exist in the ledger: a typo must not look like an empty result. */
export async function requireKnown(ledger: Ledgers, filter: SourceFilter): Promise<void> {
  const unknown = await unknownName(ledger, filter)
  if (unknown) throw new HookonceError('CONFIG_INVALID', unknown.fault)
}

/**
 * Rejects a tenant without a source, except `default`. Not for the API: the error may name another
 * tenant.
 */
export async function requireTenant(ledger: Ledgers, tenant: string | undefined): Promise<void> {
  if (tenant === undefined || tenant === 'default') return
  const known = await tenantNames(ledger)
  if (known.includes(tenant)) return
  const fault = `the ledger knows no tenant "${tenant}"${didYouMean(tenant, known)}`
  throw new HookonceError('CONFIG_INVALID', fault)
}

/** A name that does not exist in the ledger. */
export interface UnknownName {
  readonly kind: 'source' | 'subscriber'
  /** An error text with a similar name of the same tenant. */
  readonly fault: string
}

/** The first name that does not exist in the ledger. Undefined: all names exist. */
export async function unknownName(
  ledger: Ledgers,
  { tenant, source, subscriber }: SourceFilter,
): Promise<UnknownName | undefined> {
  if (source === undefined && subscriber === undefined) return undefined
  const ofTenant = (await registeredIn(ledger)).filter((one) => (tenant ?? one.tenant) === one.tenant)
  const ofSource = ofTenant.filter((one) => (source ?? one.source) === one.source)
  const of = tenant === undefined || tenant === 'default' ? '' : ` of tenant "${tenant}"`
  if (source !== undefined && ofSource.length === 0) {
    const close = didYouMean(
      source,
      ofTenant.map((one) => one.source),
    )
    return { kind: 'source', fault: `the ledger knows no source "${source}"${of}${close}` }
  }
  if (subscriber === undefined || ofSource.some((one) => one.subscriber === subscriber)) return undefined
  const where = source === undefined ? of : ` of source "${source}"${of}`
  const close = didYouMean(
    subscriber,
    ofSource.flatMap((one) => one.subscriber ?? []),
  )
  return { kind: 'subscriber', fault: `the ledger knows no subscriber "${subscriber}"${where}${close}` }
}

async function keyFindingsIn(
  ledger: LedgerTables,
  { source }: Pick<SourceFilter, 'source'> = {},
): Promise<KeyFinding[]> {
  const findings = await lintEventKeys(ledger)
  return findings.filter((finding) => source === undefined || finding.source === source)
}

/** Faults of the event keys of all sources, or of one. */
export const listKeyFindings = everywhere(keyFindingsIn, (all) => all.flat())
