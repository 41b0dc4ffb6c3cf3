import { handlersConnections, openLedger } from '../ledger/ledger.ts'
import { ledgersAtFirstUse, type OpenedLedgers } from '../ledger/ledgers-at-first-use.ts'
import { confirmPlaces, readPlaces } from '../ledger/places/places.ts'
import { parseMasterKeys } from '../ledger/vault/master-keys.ts'
import { HookonceError } from '../model/errors.ts'
import { allLedgerNames, type LedgersOptions } from '../model/ledger-names.ts'
import type { Observer } from '../observe/observer.ts'
import { type CheckedOptions, encryptionKeys, outboxOf } from '../options.ts'
import type { Subscription } from '../subscription.ts'
import { isolation } from '../work/isolation.ts'
import { sharedRoom } from '../work/room.ts'
import { createEngine, type Engine } from './engine.ts'
import { requireDatabase } from './preconditions.ts'
import { type RetiredEngines, retiredEngines } from './retired.ts'
import type { Station } from './station.ts'
import { findPlaces } from './tenant-places.ts'
import { isolationMs, type ProcessShare } from './work.ts'

export type ManyOptions = CheckedOptions & { readonly ledgers: LedgersOptions }

/** The engines of a process, and the sources of each. */
export interface Stations {
  readonly all: readonly Station[]
  readonly home: string
  /**
   * Every ledger, opened separately from the engines: for the record of the places, and for
   * operators.
   */
  readonly directory: OpenedLedgers
  /** The engine of a source. Undefined: its tenant has not been placed yet. */
  engineOf(source: string): Engine | undefined
  /** Whether the tenant of a source has not been placed yet. */
  readonly areIncomplete: boolean
  /**
   * Places the tenants that have no place yet, and makes their engines. One attempt runs at a time.
   */
  place(): Promise<void>
  /** Resolves when no attempt to place tenants is in progress. */
  settled(): Promise<void>
  /**
   * Reads the record again. Tenants that were moved, or are being moved, lose their engine until
   * they are placed again.
   */
  refresh(): Promise<void>
  /** Routes a source to an engine that uses no ledger. */
  detach(source: string, engine: Engine): void
  /** Whether the ledger has older engines, whose sources this one can take over. */
  replacesOthers(station: Station): boolean
  /**
   * Gives the sources of the older engines of the ledger to this one, and retires them: a ledger
   * has one engine, however many tenants arrive. Call it when the engine has opened.
   */
  takeOver(station: Station): void
  readonly retired: RetiredEngines
}

interface StationsOptions {
  readonly options: ManyOptions
  readonly subscriptions: readonly Subscription[]
  readonly observer: Observer
  /** Registers the handlers of these sources with a new engine. */
  readonly onNew: (station: Station, sources: ReadonlySet<string>) => void
}

export function stationsOf({ options, subscriptions, observer, onNew }: StationsOptions): Stations {
  const { schema, ledgers } = options
  const names = allLedgerNames(schema, ledgers)
  const all: Station[] = []
  const routes = new Map<string, Engine>()
  /** The ledger of each tenant, as far as this process knows it. */
  const places = new Map<string, string>()
  const directory = ledgersAtFirstUse({
    names,
    async open(name) {
      const masterKeys = parseMasterKeys(await encryptionKeys(options), 'hookonce(): encryption.key')
      return openLedger({
        ...options,
        masterKeys,
        database: databaseOf(name),
        schema: name,
        maxConnections: handlersConnections(options.maxConnections, names.length),
        isOneOfMany: true,
        isDirectory: true,
        onNotice: (notice) => observer.warning?.(notice),
      })
    },
  })
  const detached = new Set<string>()
  const retired = retiredEngines(
    () => Math.max(0, ...subscriptions.map((one) => one.options.timeoutMs)),
    observer,
  )
  /** Tenants that were moved while this process ran. */
  const moved = new Set<string>()
  let share: ProcessShare | undefined
  let placing: Promise<void> | undefined
  let making: Promise<void> | undefined

  function databaseOf(name: string): CheckedOptions['database'] {
    return ledgers.placement[name] ?? options.database
  }

  function unplacedTenants(): string[] {
    const unplaced = Object.entries(options.sources).filter(([source]) => !routes.has(source))
    return [...new Set(unplaced.map(([, { tenant }]) => tenant))]
  }

  async function placeTenants(): Promise<void> {
    requireDatabase(options)
    const tenants = unplacedTenants()
    if (tenants.length === 0) return
    const tables = (name: string) => directory.open(name)
    // The entry of a moved tenant is outdated. The record is authoritative.
    const entries = Object.entries(ledgers.tenants).filter(([tenant]) => !moved.has(tenant))
    const current = { ...ledgers, tenants: Object.fromEntries(entries) }
    const onUnplaced = (unplaced: readonly string[], error: unknown): void =>
      observer.trouble({ doing: `placing the new tenants ${unplaced.join(', ')}`, error })
    const found = await findPlaces({ schema, ledgers: current, tenants, tables, onUnplaced })
    const byLedger = new Map<string, string[]>()
    for (const [tenant, ledger] of found) byLedger.set(ledger, [...(byLedger.get(ledger) ?? []), tenant])
    for (const [ledger, own] of byLedger) add(ledger, own)
    const inUse = new Set(routes.values())
    for (const station of [...all]) if (!inUse.has(station.engine)) retire(station)
    if (options.migrate === 'auto') making ??= makeOthers()
  }

  /**
   * Creates the ledgers in which no tenant lives yet: operators read them, and tenants may move
   * there.
   */
  async function makeOthers(): Promise<void> {
    const others = names.filter((name) => !all.some(({ ledger }) => ledger === name))
    await Promise.all(
      others.map((name) =>
        directory.open(name).catch((error: unknown) => {
          observer.trouble({ doing: `making the ledger ${name}`, error })
        }),
      ),
    )
  }

  function olderThan(station: Station): Station[] {
    return all.slice(0, all.indexOf(station)).filter(({ ledger }) => ledger === station.ledger)
  }

  function retire(station: Station): void {
    const at = all.indexOf(station)
    if (at >= 0) all.splice(at, 1)
    retired.add(station)
  }

  function add(ledger: string, arriving: readonly string[]): void {
    const added = Object.entries(options.sources).flatMap(([source, { tenant }]) =>
      !routes.has(source) && arriving.includes(tenant) ? [source] : [],
    )
    const older = new Set(all.filter((one) => one.ledger === ledger).map(({ engine }) => engine))
    const before = [...routes].flatMap(([source, engine]) => (older.has(engine) ? [source] : []))
    const sources = new Set([...before, ...added])
    const tenants = [...new Set([...sources].flatMap((source) => options.sources[source]?.tenant ?? []))]
    share ??= {
      room: sharedRoom(options.concurrency),
      isolation: isolation(
        isolationMs(
          outboxOf(options),
          subscriptions.map((one) => one.options),
        ),
      ),
    }
    const own = {
      ...optionsOf(options, sources),
      schema: ledger,
      database: databaseOf(ledger),
      maxConnections: handlersConnections(options.maxConnections, names.length),
    }
    const engine = createEngine(own, {
      share,
      // Excludes tenants that were moved since.
      confirm: (tables) =>
        confirmPlaces(
          tables,
          tenants.filter((tenant) => places.get(tenant) === ledger),
        ),
    })
    for (const tenant of arriving) places.set(tenant, ledger)
    const station = { ledger, engine }
    all.push(station)
    // The older engines keep their sources until this one has opened.
    for (const source of added) routes.set(source, engine)
    onNew(station, sources)
  }

  function warnOfEntry(tenant: string, ledger: string): void {
    const entry = ledgers.tenants[tenant]
    if (entry === undefined || entry === ledger) return
    observer.warning?.({
      message: `tenant "${tenant}" was moved to the ledger ${ledger}`,
      detail: `set ledgers.tenants.${tenant} to ${ledger}: with ${entry}, this process will not start again`,
    })
  }

  async function refresh(): Promise<void> {
    const { pool } = await directory.open(names[0] ?? schema)
    for (const { tenant, ledger, movingTo } of await readPlaces(pool, [...places.keys()])) {
      if (places.get(tenant) === ledger && movingTo === null) continue
      places.delete(tenant)
      moved.add(tenant)
      if (movingTo === null) warnOfEntry(tenant, ledger)
      for (const [source, { tenant: owner }] of Object.entries(options.sources))
        if (owner === tenant && !detached.has(source)) routes.delete(source)
    }
  }

  return {
    all,
    home: names[0] ?? schema,
    directory,
    engineOf: (source) => routes.get(source),
    get areIncomplete() {
      return unplacedTenants().length > 0
    },
    place() {
      placing ??= placeTenants().finally(() => {
        placing = undefined
      })
      return placing
    },
    async settled() {
      await placing?.catch(() => undefined)
      await making
    },
    refresh,
    detach(source, engine) {
      detached.add(source)
      routes.set(source, engine)
    },
    retired,
    replacesOthers: (station) => olderThan(station).length > 0,
    takeOver(station) {
      const older = olderThan(station)
      const engines = new Set(older.map(({ engine }) => engine))
      for (const [source, engine] of routes) if (engines.has(engine)) routes.set(source, station.engine)
      for (const one of older) retire(one)
    },
  }
}

/** The options of an engine that has only these sources. */
function optionsOf(options: ManyOptions, sources: ReadonlySet<string>): CheckedOptions {
  const own = <Value>(all: Readonly<Record<string, Value>>): Record<string, Value> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => sources.has(name)))
  const { alerts } = options
  return {
    ...options,
    ledgers: undefined,
    sources: own(options.sources),
    sourceLimits: own(options.sourceLimits),
    alerts: alerts && { ...alerts, sources: own(alerts.sources) },
  }
}

export function hasLedgers(options: CheckedOptions): options is ManyOptions {
  return options.ledgers !== undefined
}

/** An error that a retry cannot fix. */
export function isFault(error: unknown): boolean {
  return error instanceof HookonceError && LASTING.has(error.code)
}

const LASTING: ReadonlySet<HookonceError['code']> = new Set([
  'CONFIG_INVALID',
  'SUBSCRIBER_MISSING',
  'SCHEMA_MISSING',
  'SCHEMA_NEWER',
  'POSTGRES_TOO_OLD',
  'SERVER_NOT_DURABLE',
  'ENCRYPTION_KEY_MISSING',
  'DATABASE_REFUSED',
])
