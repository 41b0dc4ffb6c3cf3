import pg from 'pg'
import { HANDLER_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import { IDLE_MS, limitIdle } from './driver/in-transaction.ts'
import { resetSessions } from './driver/sessions.ts'
import { cutWhenSilent } from './driver/silent-server.ts'
import { UnpreparedClient } from './driver/unprepared.ts'
import { requireDurable } from './durable-server.ts'
import { type EmbeddedServer, startEmbedded } from './embedded/embedded.ts'
import { listen, type OnWork, type WorkListener } from './jobs/announce.ts'
import { checkSchema, isMigrated, migrate } from './migrations/migrate.ts'
import { openFailure } from './open-failure.ts'

/** What it takes to work on the ledger's tables. */
export interface LedgerTables {
  /**
   * The engine's own connections: no handler can use them up, so that heartbeats and accepts never
   * wait for one.
   */
  readonly pool: pg.Pool
  readonly shards: number
}

/** The PostgreSQL that everything is recorded in. */
export interface Ledger extends LedgerTables {
  /** For the transactions of handlers. */
  readonly business: pg.Pool
  /**
   * For readiness and metrics. However often anyone asks for them, the engine's connections stay
   * free.
   */
  readonly readings: pg.Pool
  /**
   * For the writes that handlers hand over. User code runs on these connections, so the engine uses
   * its own.
   */
  readonly writes: pg.Pool
  /** How to reach it from another program; undefined where the caller brought its own pool. */
  readonly url: string | undefined
  /** Where an embedded server keeps its data. */
  readonly dataDir?: string | undefined
  /**
   * Calls back when another process has left work; undefined behind a pooler, which would not let
   * it through.
   */
  readonly listen: ((onWork: OnWork) => WorkListener) | undefined
  close(): Promise<void>
}

export interface LedgerOptions {
  /**
   * A URL, a pool of yours, or `embedded` (also without a value): a real PostgreSQL under `dir`.
   */
  readonly database: string | pg.Pool | undefined
  readonly dir: string
  /** `auto` brings the schema up to date first; `off` only checks it. */
  readonly migrate: 'auto' | 'off'
  /** For the transactions of handlers. */
  readonly maxConnections: number
  /** `off` behind a pooler in transaction mode, where prepared statements are lost. */
  readonly prepare: 'on' | 'off'
  /** `required` refuses a server that does not sync to its disk. */
  readonly durability: 'required' | 'unsafe'
  /** A relay works on it too. */
  readonly relays?: boolean
}

/**
 * Two accepts, two claims, two settlements; heartbeats and upkeep, each with one statement under
 * way.
 */
const ENGINE_CONNECTIONS = 8
/**
 * One for those that share a commit, three for those that are committed alone: opened when there
 * are such.
 */
const WRITE_CONNECTIONS = 4
/** Its claims and its marks; its heartbeats are rare. */
const RELAY_CONNECTIONS = 2
/** One for readiness, one for metrics: a slow scrape must not make this process look dead. */
const READING_CONNECTIONS = 2
/** A server that does not even answer: the provider's patience is shorter than the network's. */
const CONNECT_TIMEOUT_MS = 5_000
const ANSWER_TIMEOUT_MS = 20_000
const KEEP_ALIVE_MS = 10_000

/** In the place of a URL: said on purpose, it also holds in production. */
export const EMBEDDED = 'embedded'

export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { database } = options
  if (typeof database === 'object') return connect(options, { business: database })
  if (database !== undefined && database !== EMBEDDED) return connect(options, { url: checkedUrl(database) })
  const server = await startEmbedded({ dir: options.dir })
  return connect(options, { url: server.url, embedded: server })
}

interface Reaching {
  readonly url?: string
  readonly business?: pg.Pool
  readonly embedded?: EmbeddedServer
}

async function connect(options: LedgerOptions, { url, business, embedded }: Reaching): Promise<Ledger> {
  const config: pg.PoolConfig = {
    // A caller's pool is used for its handlers; the engine reaches the same server by the same
    // options.
    ...business?.options,
    // pg hides it from a copy.
    ...(business?.options.password === undefined ? {} : { password: business.options.password }),
    ...(url === undefined ? {} : { connectionString: url }),
    application_name: 'hookonce',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    // Else the system asks for the first time after two hours whether a silent server is still
    // there.
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    pipeline: false,
    ...(options.prepare === 'off' ? { Client: UnpreparedClient } : {}),
    // The embedded server speaks no TLS, whatever PGSSLMODE asks of others.
    ...(embedded ? { ssl: false } : {}),
  }
  const max = ENGINE_CONNECTIONS + (options.relays ? RELAY_CONNECTIONS : 0)
  const remember = options.prepare === 'on'
  const limited = remember ? limitIdle : (opened: pg.Pool) => opened
  const opened = (more: pg.PoolConfig): pg.Pool => quiet(new pg.Pool({ ...config, ...more }))
  const pool = limited(cutWhenSilent(opened({ max }), ANSWER_TIMEOUT_MS), IDLE_MS)
  const writes = limited(cutWhenSilent(opened({ max: WRITE_CONNECTIONS }), ANSWER_TIMEOUT_MS), IDLE_MS)
  resetSessions(writes, { remember })
  const readings = cutWhenSilent(opened({ max: READING_CONNECTIONS }), ANSWER_TIMEOUT_MS)
  // Statements that do not wait for each other travel together: BEGIN with the first, COMMIT with
  // the last.
  const own = business
    ? undefined
    : limited(opened({ max: options.maxConnections, pipeline: true }), HANDLER_MS)
  if (own) resetSessions(own, { remember })
  const close = async (): Promise<void> => {
    await Promise.all([pool.end(), writes.end(), own?.end(), readings.end()])
    await embedded?.leave()
  }
  try {
    if (options.durability === 'required') await requireDurable(pool)
    if (options.migrate === 'auto' && !(await isMigrated(pool))) await migrateBy(opened({ max: 1 }))
    const { shards } = await checkSchema(pool)
    const hears = options.prepare === 'on' ? (onWork: OnWork) => listen(config, onWork) : undefined
    return {
      pool,
      business: business ?? own ?? pool,
      readings,
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
 * By a pool of its own, which is not cut when the server is silent: a large table takes its time.
 */
async function migrateBy(pool: pg.Pool): Promise<void> {
  try {
    await migrate(pool)
  } finally {
    await pool.end()
  }
}

/**
 * An idle connection that breaks is replaced at the next query, which reports what is still wrong.
 */
function quiet(pool: pg.Pool): pg.Pool {
  return pool.on('error', () => undefined)
}

export function checkedUrl(url: string): string {
  if (/^postgres(ql)?:\/\//.test(url)) return url
  throw new HookonceError(
    'CONFIG_INVALID',
    "`database` must be a URL that begins with postgres:// (is DATABASE_URL set?), or 'embedded'",
  )
}
