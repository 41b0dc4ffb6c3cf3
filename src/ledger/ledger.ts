import pg from 'pg'
import { HANDLER_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import { quietPool } from '../sql/quiet-pool.ts'
import { IDLE_MS, limitIdle } from './driver/in-transaction.ts'
import { schemaOf, setSchema, setShape, viewOf } from './driver/schema.ts'
import { resetSessions } from './driver/sessions.ts'
import { cutWhenSilent } from './driver/silent-server.ts'
import { UnpreparedClient } from './driver/unprepared.ts'
import { requireDurable } from './durable-server.ts'
import { type EmbeddedServer, startEmbedded } from './embedded/embedded.ts'
import type { Notice } from './embedded/fetch.ts'
import { listen, type OnWork, type WorkListener } from './jobs/announce.ts'
import { checkSchema, isMigrated, migrate } from './migrations/migrate.ts'
import { openFailure } from './open-failure.ts'
import { findShape } from './places/citus.ts'
import { ledgerNumber, separateIds } from './places/id-range.ts'
import type { MasterKey } from './vault/master-keys.ts'
import { openVault, type Vault } from './vault/vault.ts'

/** Access to the ledger's tables. */
export interface LedgerTables {
  /**
   * The engine's own connections. Handlers cannot exhaust them, so heartbeats and accepts never
   * wait for a connection.
   */
  readonly pool: pg.Pool
  readonly shards: number
  /** Opens encrypted payloads. Without it, they cannot be read. */
  readonly vault?: Vault
}

/** The PostgreSQL database that holds all records. */
export interface Ledger extends LedgerTables {
  readonly vault: Vault
  /** Connections for handlers' transactions. */
  readonly business: pg.Pool
  /**
   * Connections for readiness and metrics. Frequent requests for these do not use the engine's
   * connections.
   */
  readonly readings: pg.Pool
  /**
   * Connections for the admin API. Busy operators do not use the engine's connections, and their
   * statements are cancelled after `OPERATOR_MS`.
   */
  readonly operators: pg.Pool
  /**
   * Connections for the statements of `ctx.write`. They run user code, so the engine does not use
   * them for its own statements.
   */
  readonly writes: pg.Pool
  /** The URL for other programs; undefined if the caller passed its own pool. */
  readonly url: string | undefined
  /** The data directory of an embedded server. */
  readonly dataDir?: string | undefined
  /**
   * Calls `onWork` when another process has left work. Undefined behind a pooler in transaction
   * mode, which does not support LISTEN.
   */
  readonly listen: ((onWork: OnWork) => WorkListener) | undefined
  close(): Promise<void>
}

export interface LedgerOptions {
  /**
   * A URL, your own pool, or `embedded`: a real PostgreSQL under `dir`. Undefined means `embedded`.
   */
  readonly database: string | pg.Pool | undefined
  readonly dir: string
  /** The name of the ledger's schema. A database may hold several ledgers. */
  readonly schema: string
  /** `auto` migrates the schema first; `off` only checks it. */
  readonly migrate: 'auto' | 'off'
  /** Maximum number of connections for handlers' transactions. */
  readonly maxConnections: number
  /** `off` behind a pooler in transaction mode, where prepared statements are lost. */
  readonly prepare: 'on' | 'off'
  /** `required` rejects a server that does not sync commits to disk. */
  readonly durability: 'required' | 'unsafe'
  /** Encrypts payloads. The first key wraps new data keys, the others open older ones. */
  readonly masterKeys?: readonly MasterKey[]
  /** Whether the process has other ledgers too. Then its pools are smaller. */
  readonly isOneOfMany?: boolean
  /** Whether no engine uses these connections. Then few are enough. */
  readonly isDirectory?: boolean
  /** Whether a relay also uses this ledger. */
  readonly relays?: boolean
  /** Reports why opening an embedded ledger takes long. */
  readonly onNotice?: (notice: Notice) => void
}

/** The most connections of one ledger, by their use. */
interface PoolSizes {
  readonly engine: number
  readonly writes: number
  readonly relay: number
  readonly readings: number
  readonly operators: number
}

const ALONE: PoolSizes = {
  /** Two each for accepts, claims and settlements; one each for heartbeats and upkeep. */
  engine: 8,
  /**
   * One for jobs that share a commit, three for jobs that are committed alone. The three are opened
   * only when needed.
   */
  writes: 4,
  /** One for claiming lanes, one for marking messages. Heartbeats are rare and share them. */
  relay: 2,
  /** One for readiness, one for metrics, so a slow scrape does not fail the readiness check. */
  readings: 2,
  /** Enough for a few people and their pages. */
  operators: 4,
}

/**
 * If a process has several ledgers, each gets a part of the deliveries, so smaller pools are
 * enough: one each for accepts, claims, settlements, heartbeats and upkeep.
 */
const ONE_OF_MANY: PoolSizes = { engine: 5, writes: 2, relay: 1, readings: 2, operators: 2 }
/**
 * A process with several ledgers opens each of them once more: one connection for the record of the
 * places, one for calls of the program. Operators use the connections of this opening only.
 */
const OF_DIRECTORY = 2
/** Wakes the claim loop. */
const LISTEN_CONNECTIONS = 1
/** A handler may hold one while another begins. */
const LEAST_FOR_HANDLERS = 2

/** The part of `maxConnections` that each of several ledgers gets. */
export function handlersConnections(maxConnections: number, ledgers: number): number {
  return ledgers === 1 ? maxConnections : Math.max(LEAST_FOR_HANDLERS, Math.ceil(maxConnections / ledgers))
}

/**
 * The most connections that one process opens, with `maxConnections` for handlers, to all of its
 * ledgers.
 */
export function connectionsPerProcess(maxConnections: number, ledgers = 1): number {
  const { engine, writes, relay, readings, operators } = ledgers === 1 ? ALONE : ONE_OF_MANY
  const directory = ledgers === 1 ? 0 : OF_DIRECTORY
  const ownUse = engine + writes + relay + readings + operators + LISTEN_CONNECTIONS + directory
  return ledgers * (ownUse + handlersConnections(maxConnections, ledgers))
}

/** Long enough for any page of a large ledger, short enough for a person to wait. */
const OPERATOR_MS = 10_000
/** Shorter than network timeouts, because providers stop waiting for a response earlier. */
const CONNECT_TIMEOUT_MS = 5_000
const ANSWER_TIMEOUT_MS = 20_000
const KEEP_ALIVE_MS = 10_000

/** Replaces the URL. Set explicitly, it also works with NODE_ENV=production. */
export const EMBEDDED = 'embedded'

export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { database } = options
  if (typeof database === 'object') return connect(options, { business: database })
  if (database !== undefined && database !== EMBEDDED) return connect(options, { url: checkedUrl(database) })
  const server = await startEmbedded({ dir: options.dir, onNotice: options.onNotice })
  return connect(options, { url: server.url, embedded: server })
}

interface LedgerConnection {
  readonly url?: string
  readonly business?: pg.Pool
  readonly embedded?: EmbeddedServer
}

async function connect(
  options: LedgerOptions,
  { url, business, embedded }: LedgerConnection,
): Promise<Ledger> {
  const config: pg.PoolConfig = {
    // A caller's pool serves its handlers only. The engine connects to the same server with the
    // same options.
    ...business?.options,
    // pg makes `password` non-enumerable, so the spread above does not copy it.
    ...(business?.options.password === undefined ? {} : { password: business.options.password }),
    ...(url === undefined ? {} : { connectionString: url }),
    application_name: 'hookonce',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    // The system's default would send the first keep-alive probe after two hours.
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    pipeline: false,
    ...(options.prepare === 'off' ? { Client: UnpreparedClient } : {}),
    // The embedded server has no TLS; this overrides PGSSLMODE.
    ...(embedded ? { ssl: false } : {}),
  }
  const { schema } = options
  const sizes = options.isOneOfMany ? ONE_OF_MANY : ALONE
  const max = options.isDirectory ? OF_DIRECTORY : sizes.engine + (options.relays ? sizes.relay : 0)
  const remember = options.prepare === 'on'
  const limited = remember ? limitIdle : (opened: pg.Pool) => opened
  const opened = (more: pg.PoolConfig): pg.Pool =>
    quietPool(setSchema(new pg.Pool({ ...config, ...more }), schema))
  const pool = limited(cutWhenSilent(opened({ max }), ANSWER_TIMEOUT_MS), IDLE_MS)
  const writes = limited(cutWhenSilent(opened({ max: sizes.writes }), ANSWER_TIMEOUT_MS), IDLE_MS)
  resetSessions(writes, { remember, idleMs: IDLE_MS })
  const readings = cutWhenSilent(opened({ max: sizes.readings }), ANSWER_TIMEOUT_MS)
  const operators = limited(
    cutWhenSilent(
      // A pooler in transaction mode does not know this setting.
      opened({ max: sizes.operators, ...(remember ? { statement_timeout: OPERATOR_MS } : {}) }),
      ANSWER_TIMEOUT_MS,
    ),
    IDLE_MS,
  )
  // `pipeline` sends statements that do not wait for each other together: BEGIN with the first,
  // COMMIT with the last.
  const own = business
    ? undefined
    : limited(opened({ max: options.maxConnections, pipeline: true }), HANDLER_MS)
  if (own) resetSessions(own, { remember, idleMs: HANDLER_MS })
  const close = async (): Promise<void> => {
    await Promise.all([pool.end(), writes.end(), own?.end(), readings.end(), operators.end()])
    await embedded?.leave()
  }
  try {
    if (options.durability === 'required') await requireDurable(pool)
    if (options.migrate === 'auto' && !(await isMigrated(pool)))
      await migrateBy(opened({ max: 1 }), options.isOneOfMany === true)
    const { shards } = await checkSchema(pool)
    const shape = await findShape(pool)
    const handlers = own ?? (business ? viewOf(business, schema) : pool)
    for (const each of [pool, writes, readings, operators, handlers]) setShape(each, shape)
    const hears = options.prepare === 'on' ? (onWork: OnWork) => listen(config, schema, onWork) : undefined
    return {
      pool,
      vault: openVault(pool, options.masterKeys ?? []),
      business: handlers,
      readings,
      operators,
      writes,
      shards,
      url,
      dataDir: embedded?.dataDir,
      listen: hears,
      close,
    }
  } catch (error) {
    await close()
    throw openFailure(error, url ?? pool.options)
  }
}

/**
 * Migrates with a separate pool without a response timeout, because migrating a large table takes
 * long.
 */
async function migrateBy(pool: pg.Pool, isOneOfMany: boolean): Promise<void> {
  try {
    await migrate(pool)
    const number = isOneOfMany ? ledgerNumber(schemaOf(pool)) : undefined
    if (number !== undefined) await separateIds(pool, number)
  } finally {
    await pool.end()
  }
}

export function checkedUrl(url: string): string {
  if (/^postgres(ql)?:\/\//.test(url)) return url
  throw new HookonceError(
    'CONFIG_INVALID',
    "`database` is not a URL that begins with postgres://; check DATABASE_URL, or pass 'embedded'",
  )
}
