import pg from 'pg'
import { HookonceError } from '../model/errors.ts'
import { startEmbedded } from './embedded/embedded.ts'
import { checkSchema, migrate } from './migrate.ts'

/** The PostgreSQL that everything is recorded in. */
export interface Ledger {
  readonly pool: pg.Pool
  readonly shards: number
  /** How to reach it from another program; undefined where the caller brought its own pool. */
  readonly url: string | undefined
  close(): Promise<void>
}

export interface LedgerOptions {
  /** A URL, a pool of yours, or nothing: a real PostgreSQL, embedded, under `dir`. */
  readonly database: string | pg.Pool | undefined
  readonly dir: string
  /** `auto` brings the schema up to date first; `off` only checks it. */
  readonly migrate: 'auto' | 'off'
  readonly maxConnections: number
}

/** A server that does not even answer: the provider's patience is shorter than the network's. */
const CONNECT_TIMEOUT_MS = 5_000
const ANSWER_TIMEOUT_MS = 20_000

export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { database } = options
  if (typeof database === 'string') return connect(checkedUrl(database), options)
  if (database !== undefined) return prepare(database, options, { close: async () => undefined })
  const server = await startEmbedded({ dir: options.dir })
  // The embedded server speaks no TLS, whatever PGSSLMODE asks of others.
  return connect(server.url, options, { ssl: false, leave: () => server.leave() })
}

interface Reaching {
  readonly ssl?: false
  readonly leave?: () => Promise<void>
}

async function connect(
  url: string,
  options: LedgerOptions,
  { leave, ...ssl }: Reaching = {},
): Promise<Ledger> {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.maxConnections,
    application_name: 'hookonce',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
    ...ssl,
  })
  // An idle connection that breaks is replaced at the next query, which reports what is still wrong.
  pool.on('error', () => undefined)
  const close = async (): Promise<void> => {
    await pool.end()
    await leave?.()
  }
  try {
    return await prepare(pool, options, { url, close })
  } catch (error) {
    await close()
    throw error
  }
}

async function prepare(
  pool: pg.Pool,
  options: LedgerOptions,
  rest: { url?: string; close: () => Promise<void> },
): Promise<Ledger> {
  if (options.migrate === 'auto') await migrate(pool)
  const { shards } = await checkSchema(pool)
  return { pool, shards, url: rest.url, close: rest.close }
}

function checkedUrl(url: string): string {
  if (/^postgres(ql)?:\/\//.test(url)) return url
  throw new HookonceError(
    'CONFIG_INVALID',
    '`database` must be a URL that begins with postgres:// (is DATABASE_URL set?)',
  )
}
