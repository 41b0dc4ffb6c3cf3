import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { MORE_SCHEMAS } from './ledger-counts.ts'
import { databaseUrl, TEMPLATE } from './servers.ts'

/*
 * Cloning the template and dropping the clone takes more CPU time than most tests. So a test
 * empties its database and leaves it to another test, in the server's table idle_database. A
 * database in which a test changed anything but rows is dropped.
 */

/** A database that is equal to a new clone of the template. */
export interface PristineDatabase {
  readonly name: string
  /** Changes with the catalog of the database, and with the rows that a migration creates. */
  readonly signature: string
}

const TAKE_IDLE = `delete from idle_database
  where name = (select name from idle_database limit 1 for update skip locked)
  returning name, signature`

export async function takePristine(admin: pg.Pool, serverUrl: string): Promise<PristineDatabase> {
  const idle = await admin.query<PristineDatabase>(TAKE_IDLE)
  if (idle.rows[0]) return idle.rows[0]
  const name = newName()
  await admin.query(`create database ${name} template ${TEMPLATE}`)
  return { name, signature: await inDatabase(databaseUrl(serverUrl, name), signatureOf) }
}

/** Leaves the database to another test, or drops it. */
export async function leaveDatabase(
  admin: pg.Pool,
  serverUrl: string,
  { name, signature }: PristineDatabase,
): Promise<void> {
  const next = newName()
  if (!(await isRenamed(admin, name, next))) return dropDatabase(admin, name)
  const emptied = await inDatabase(databaseUrl(serverUrl, next), async (client) => {
    if ((await signatureOf(client)) !== signature) return undefined
    await removeRows(client)
    return signatureOf(client)
  })
  if (emptied === undefined) return dropDatabase(admin, next)
  await admin.query('insert into idle_database (name, signature) values ($1, $2)', [next, emptied])
}

function newName(): string {
  return `t_${randomBytes(6).toString('hex')}`
}

async function dropDatabase(admin: pg.Pool, name: string): Promise<void> {
  await admin.query(`drop database ${name} with (force)`)
}

/** On a busy machine, servers of closed connections need some time to end. */
const LOOKS_FOR_CONNECTIONS = 40
const CONNECTED = 'select count(*)::integer as connected from pg_stat_activity where datname = $1'
const TERMINATE = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1`
const ACCEPTS_CONNECTIONS =
  'select datallowconn and datconnlimit = -1 as accepts from pg_database where datname = $1'

/**
 * A process that still uses the old name, such as a worker that a test left behind, can never
 * connect again.
 */
async function isRenamed(admin: pg.Pool, from: string, to: string): Promise<boolean> {
  const { rows } = await admin.query<{ accepts: boolean }>(ACCEPTS_CONNECTIONS, [from])
  if (!rows[0]?.accepts) return false
  await connectionsHaveEnded(admin, from)
  await admin.query(TERMINATE, [from])
  try {
    await admin.query(`alter database ${from} rename to ${to}`)
    return true
  } catch (error) {
    // A process connected again meanwhile.
    if (error instanceof pg.DatabaseError && error.code === '55006') return false
    throw error
  }
}

/**
 * `pool.end()` does not wait until the server has closed its connections. If one of them is
 * terminated before that, the pool of the test emits an error. Connections that stay open are left
 * to the caller.
 */
async function connectionsHaveEnded(admin: pg.Pool, name: string): Promise<void> {
  for (let looks = 0; looks < LOOKS_FOR_CONNECTIONS; looks++) {
    const { rows } = await admin.query<{ connected: number }>(CONNECTED, [name])
    if (rows[0]?.connected === 0) return
    await delay(5)
  }
}

async function inDatabase<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Built-in objects of a database have lower ids. */
const FIRST_OWN_ID = 16_384
/** Catalogs, with the owner of their rows. A written row gets another xmin. */
const CATALOGS: Readonly<Record<string, string>> = {
  pg_attrdef: 'oid',
  pg_attribute: 'attrelid',
  pg_class: 'oid',
  pg_constraint: 'oid',
  pg_default_acl: 'oid',
  pg_enum: 'oid',
  pg_event_trigger: 'oid',
  pg_extension: 'oid',
  pg_index: 'indexrelid',
  pg_policy: 'oid',
  pg_proc: 'oid',
  pg_publication: 'oid',
  pg_rewrite: 'oid',
  pg_statistic: 'starelid',
  pg_trigger: 'oid',
  pg_type: 'oid',
}
const SIGNATURE = `
  with line (text) as (
    ${Object.entries(CATALOGS)
      .map(([catalog, id]) => {
        const own = `${id} >= ${FIRST_OWN_ID}`
        return `select '${catalog}' || count(*) || '-' || coalesce(sum(xmin::text::bigint), 0) from ${catalog} where ${own}`
      })
      .join('\n    union all ')}
    union all select 'schema' || oid || xmin from pg_namespace where nspname !~ '^pg_(toast_)?temp_'
    union all select 'settings' || s::text from pg_db_role_setting s
      where setdatabase = (select oid from pg_database where datname = current_database())
    union all select 'acl' || datacl::text from pg_database where datname = current_database() and datacl is not null
    union all select 'migration' || m::text from hookonce.migration m
    union all select 'setting' || s::text from hookonce.setting s)
  select md5(string_agg(text, ' ' order by text)) as signature from line`

async function signatureOf(client: pg.Client): Promise<string> {
  // Tests may have dropped the ledger.
  const { rows: ledger } = await client.query(`select 1 where to_regclass('hookonce.setting') is not null`)
  if (ledger.length === 0) return 'no ledger'
  const { rows } = await client.query<{ signature: string }>(SIGNATURE)
  return String(rows[0]?.signature)
}

const LEDGERS = ['hookonce', ...MORE_SCHEMAS]
const WITH_ROWS = `select string_agg(oid::regclass::text, ', ') as tables from pg_class
  where relkind = 'r' and oid >= ${FIRST_OWN_ID} and relname not in ('migration', 'setting', 'alert_run')
    and relnamespace in (select oid from pg_namespace where nspname in (${namesOf(['public', ...LEDGERS])}))
    and pg_relation_size(oid) > 0`
const RESTART_SEQUENCES = `select setval(seqrelid, seqstart, false) from pg_sequence
  where pg_sequence_last_value(seqrelid) is not null`

async function removeRows(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ tables: string | null }>(WITH_ROWS)
  // Cascades to tables without rows that refer to one of these.
  if (rows[0]?.tables) await client.query(`truncate ${rows[0].tables} cascade`)
  // Its only row comes from a migration.
  for (const ledger of LEDGERS)
    await client.query(
      `update ${ledger}.alert_run set ran_at = '-infinity', hour_began_at = '-infinity', sent = 0`,
    )
  await client.query(RESTART_SEQUENCES)
  await client.query('select pg_stat_reset()')
}

function namesOf(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join(', ')
}
