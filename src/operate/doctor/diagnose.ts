import pg from 'pg'
import { setSchema } from '../../ledger/driver/schema.ts'
import { UnpreparedClient } from '../../ledger/driver/unprepared.ts'
import { type EmbeddedServer, startEmbedded } from '../../ledger/embedded/embedded.ts'
import { whyEphemeral } from '../../ledger/embedded/ephemeral.ts'
import { checkedUrl, EMBEDDED } from '../../ledger/ledger.ts'
import { checkSchema } from '../../ledger/migrations/migrate.ts'
import { openFailure } from '../../ledger/open-failure.ts'
import { oldPreparedTransactions, oldSessions, replicationSlots } from '../../ledger/read/horizon.ts'
import { type PoolerMode, poolerMode } from '../../ledger/read/pooler.ts'
import { schemaVersion } from '../../ledger/read/schema.ts'
import { checkpointCounts, type ServerFacts, serverClockMs, serverFacts } from '../../ledger/read/server.ts'
import { ledgerTables, schemaRights } from '../../ledger/read/tables.ts'
import { listDataKeys } from '../../ledger/vault/data-keys.ts'
import { parseMasterKeys } from '../../ledger/vault/master-keys.ts'
import { HookonceError } from '../../model/errors.ts'
import { quietPool } from '../../sql/quiet-pool.ts'
import { listWorkers, readBacklogs } from '../status.ts'
import { type Attempt, attempts, failedCheck, QUERY_MS, withoutCode } from './attempts.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import {
  encryptionFinding,
  horizonFinding,
  lagFinding,
  peopleFinding,
  rightsFinding,
  vacuumFinding,
} from './ledger-checks.ts'
import {
  buffersFinding,
  type ClockReading,
  clockFinding,
  connectionsFinding,
  durabilityFindings,
  poolerFinding,
  primaryFinding,
  standbyFinding,
  versionFinding,
  walFinding,
} from './server-checks.ts'

export type { Finding, Level } from './finding.ts'

export interface DiagnoseOptions {
  /** A postgres:// URL, or `embedded`. */
  readonly database: string
  readonly dir: string
  readonly schema: string
  /** The number of processes that will share the database. */
  readonly processes: number
  readonly maxConnections: number
  /** The number of ledgers of each process, and how many of them are in this database. */
  readonly ledgers?: { readonly all: number; readonly here: number } | undefined
  /** The database is expected to be behind a pooler in transaction mode. */
  readonly isPooled: boolean
  /** The keys that encrypt payloads. Undefined: the keys are faulty, so they are not tried. */
  readonly encryptionKeys: readonly string[] | undefined
  /** A transaction that is open for longer than this is reported. */
  readonly maxTransactionSeconds: number
}

export interface Diagnosis {
  readonly findings: readonly Finding[]
  /** The size of all tables of the ledger. Undefined: it could not be read. */
  readonly ledgerBytes?: number | undefined
  /** The data directory of an embedded server. */
  readonly dataDir?: string | undefined
}

/** The timeout for a server that does not answer. */
const CONNECT_MS = 5_000

/** Checks a database and its ledger. It only reads, and never migrates. */
export async function diagnose(options: DiagnoseOptions): Promise<Diagnosis> {
  try {
    const { database, dir } = options
    if (database !== EMBEDDED) return await diagnoseUrl(options, checkedUrl(database))
    return await diagnoseEmbedded(options, await startEmbedded({ dir }))
  } catch (error) {
    if (!(error instanceof HookonceError)) throw error
    return { findings: [failedCheck('database', error)] }
  }
}

async function diagnoseEmbedded(options: DiagnoseOptions, server: EmbeddedServer): Promise<Diagnosis> {
  try {
    const { findings, ...diagnosis } = await diagnoseUrl(options, server.url)
    const why = await whyEphemeral(server.dataDir)
    const lasts =
      why === undefined
        ? ok('folder', `${server.dataDir} is on a disk of this machine`)
        : warn(
            'folder',
            why,
            'choose a folder that stays with --dir, or set DATABASE_URL: acknowledged events are lost with it',
          )
    return { ...diagnosis, findings: [...findings, lasts], dataDir: server.dataDir }
  } finally {
    await server.leave()
  }
}

async function diagnoseUrl(options: DiagnoseOptions, url: string): Promise<Diagnosis> {
  const isEmbedded = options.database === EMBEDDED
  const config = {
    connectionString: url,
    application_name: 'hookonce doctor',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    ...(isEmbedded ? { ssl: false } : {}),
  }
  const pool = quietPool(
    setSchema(new pg.Pool({ ...config, max: 1, Client: UnpreparedClient }), options.schema),
  )
  try {
    return await examine(pool, { ...options, config, url, isEmbedded })
  } finally {
    await pool.end()
  }
}

interface Examined extends DiagnoseOptions {
  readonly config: pg.ClientConfig
  readonly url: string
  readonly isEmbedded: boolean
}

async function examine(pool: pg.Pool, options: Examined): Promise<Diagnosis> {
  let facts: ServerFacts | undefined
  const startedAt = performance.now()
  try {
    facts = await serverFacts(pool)
  } catch (error) {
    return { findings: [unreachable(error, options.url)] }
  }
  if (facts === undefined)
    return { findings: [fail('database', 'it reports nothing about itself', NO_FACTS)] }
  const findings: Finding[] = [ok('database', `${placeOf(options)} answers`)]
  const found = facts
  const attempt = attempts(findings, startedAt)

  findings.push(versionFinding(found), primaryFinding(found), ...durabilityFindings(found))
  if (!found.isStandby) findings.push(standbyFinding(found))
  const tables = (await attempt('size', () => ledgerTables(pool))) ?? []
  const ledgerBytes = tables.reduce((sum, table) => sum + table.bytes, 0)
  findings.push(buffersFinding(found, { ledgerBytes }))
  await attempt('max_wal_size', async () => {
    const checkpoints = await checkpointCounts(pool, found.versionNumber)
    findings.push(walFinding(found, { ledgerBytes, ...checkpoints }))
  })
  let pooler: PoolerMode = 'none'
  await attempt('pooler', async () => {
    pooler = await poolerMode(options.config)
    findings.push(poolerFinding(pooler, options.isPooled))
  })
  findings.push(connectionsFinding(found, { ...options, pooler }))
  await attempt('clock', async () => {
    findings.push(clockFinding(await readClock(pool)))
  })
  await examineLedger(pool, { ...options, facts: found, findings, attempt })
  await attempt('horizon', async () => {
    const { maxTransactionSeconds: maxSeconds } = options
    const horizon = {
      maxSeconds,
      sessions: await oldSessions(pool, maxSeconds),
      prepared: await oldPreparedTransactions(pool, maxSeconds),
      slots: await replicationSlots(pool),
    }
    findings.push(horizonFinding(found, horizon))
  })
  findings.push(vacuumFinding(found, tables))
  return { findings, ledgerBytes }
}

/** Two keys for each tenant. All tenants share the master keys, so a sample is enough. */
const MAX_DATA_KEYS = 10_000
const NO_FACTS = 'check that DATABASE_URL names a PostgreSQL server'

interface LedgerExam extends Examined {
  readonly facts: ServerFacts
  readonly findings: Finding[]
  readonly attempt: Attempt
}

/** Data in the tables is read only if this build supports their schema. */
async function examineLedger(pool: pg.Pool, exam: LedgerExam): Promise<void> {
  const { schema, isEmbedded, facts, findings, attempt } = exam
  const canUse = await attempt('rights', async () => {
    const rights = await schemaRights(pool)
    findings.push(rightsFinding(facts, { rights, schema, isEmbedded }))
    return rights === undefined || rights.hasUsage
  })
  if (canUse !== true) return
  const shards = await attempt('schema', async () => {
    const state = await checkSchema(pool)
    const newest = await schemaVersion(pool)
    findings.push(ok('schema', `migrated to ${newest?.name}`))
    return state.shards
  })
  if (shards === undefined) return
  const { encryptionKeys } = exam
  if (encryptionKeys !== undefined)
    await attempt('encryption', async () => {
      const masters = parseMasterKeys(encryptionKeys, 'encryption')
      findings.push(encryptionFinding(await listDataKeys(pool, 0, MAX_DATA_KEYS), masters))
    })
  await attempt('lag', async () => {
    const ledger = { pool, shards }
    const { jobs } = await readBacklogs(ledger)
    findings.push(lagFinding(jobs, await listWorkers(ledger)), peopleFinding(jobs))
  })
}

function unreachable(error: unknown, url: string): Finding {
  const explained = openFailure(error, url)
  const isOurs = explained instanceof HookonceError
  const [seen = '', ...advice] = (isOurs ? withoutCode(explained) : String(error)).split('; ')
  return fail('database', seen, advice.join('; ') || 'check DATABASE_URL and the log of the server')
}

function placeOf({ url, isEmbedded }: Pick<Examined, 'url' | 'isEmbedded'>): string {
  const { hostname, port, pathname } = new URL(url)
  const place = `${hostname || 'localhost'}:${port || 5432}${pathname}`
  return isEmbedded ? `the embedded PostgreSQL at ${place}` : place
}

const CLOCK_READINGS = 3

/** The reading with the shortest round trip is the most exact one. */
async function readClock(pool: pg.Pool): Promise<ClockReading> {
  let best: ClockReading = { skewMs: 0, roundTripMs: Number.POSITIVE_INFINITY }
  for (let reading = 0; reading < CLOCK_READINGS; reading += 1) {
    const before = performance.now()
    const oursBefore = Date.now()
    const theirs = await serverClockMs(pool)
    const roundTripMs = performance.now() - before
    if (roundTripMs >= best.roundTripMs) continue
    best = { skewMs: theirs - (oursBefore + roundTripMs / 2), roundTripMs }
  }
  return best
}
