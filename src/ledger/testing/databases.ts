import { createHash, randomBytes, randomInt } from 'node:crypto'
import { Socket } from 'node:net'
import pg from 'pg'
import { setSchema } from '../driver/schema.ts'
import { migrate } from '../migrations/migrate.ts'
import { MIGRATIONS, migrationsIn } from '../migrations/numbered-files.ts'
import { INSTALL_CLOCK, pathWithClock } from './clock.ts'

/*
 * Databases for tests. A template is migrated once per server; each test gets a clone of it, in
 * milliseconds. Names contain a number of the process that made them. The process holds an advisory
 * lock on that number while it lives, so any other process can recognise leftover databases,
 * whatever host they were made on.
 */

const PREFIX = 'hookonce_test'
const TEMPLATE_PREFIX = 'hookonce_template'
/**
 * "hook" in ASCII, and the next number: the locks of owners, and of processes that make templates.
 */
const OWNER_LOCK = 0x68_6f_6f_6b
const TEMPLATE_LOCK = OWNER_LOCK + 1
const MAX_OWNER = 2 ** 31 - 1

export interface TemplateRequest {
  readonly schema: string
  /** Runs in the template after the ledger's migrations. */
  readonly setup?: ((url: string) => unknown) | undefined
  /** Changes with the setup: another version makes another template. */
  readonly setupVersion: string
}

export interface TestDatabases {
  clone(request: TemplateRequest): Promise<string>
  drop(url: string): Promise<void>
  close(): Promise<void>
}

/** The test databases of this process on one server. */
export async function openTestDatabases(serverUrl: string): Promise<TestDatabases> {
  // One connection, which holds the lock of the owner. It does not keep the process running.
  const socket = new Socket()
  const admin = new pg.Client({
    connectionString: serverUrl,
    application_name: 'hookonce-testing',
    stream: () => socket,
  })
  admin.on('error', () => undefined)
  await admin.connect()
  const owner = await takeOwnerNumber(admin)
  const templates = new Map<string, Promise<string>>()
  let queue: Promise<unknown> = Promise.resolve()
  const alone = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = queue.then(async () => {
      socket.ref()
      try {
        return await work()
      } finally {
        socket.unref()
      }
    })
    queue = result.catch(() => undefined)
    return result
  }
  await alone(() => dropAbandoned(admin))

  function templateOf(request: TemplateRequest): Promise<string> {
    const id = `${request.schema}\0${request.setupVersion}`
    const known = templates.get(id)
    if (known) return known
    const made = alone(() => requireTemplate(admin, serverUrl, request))
    made.catch(() => templates.delete(id))
    templates.set(id, made)
    return made
  }

  return {
    async clone(request) {
      const template = await templateOf(request)
      const name = `${PREFIX}_${owner}_${randomBytes(5).toString('hex')}`
      await alone(async () => {
        await admin.query(`create database ${name} template ${template}`)
        // Settings of a database are not cloned with it.
        await setPath(admin, { database: name, schema: request.schema })
      })
      return urlOf(serverUrl, name)
    },
    drop: (url) => alone(() => dropDatabase(admin, new URL(url).pathname.slice(1))),
    close: () => alone(() => admin.end()),
  }
}

async function takeOwnerNumber(admin: pg.Client): Promise<number> {
  for (;;) {
    const owner = randomInt(1, MAX_OWNER)
    if (await tryLock(admin, owner)) return owner
  }
}

async function tryLock(admin: pg.Client, owner: number): Promise<boolean> {
  const { rows } = await admin.query('select pg_try_advisory_lock($1, $2) as locked', [OWNER_LOCK, owner])
  return rows[0]?.locked === true
}

const LEFT = `select datname as name, split_part(datname, '_', 3)::integer as owner from pg_database
  where datname ~ '^${PREFIX}_[0-9]{1,9}_[0-9a-f]+$' or datname ~ '^${PREFIX}_[12][0-9]{9}_[0-9a-f]+$' limit 200`

/** Drops the databases of processes that ended without dropping them. */
async function dropAbandoned(admin: pg.Client): Promise<void> {
  const { rows } = await admin.query<{ name: string; owner: number }>(LEFT)
  for (const owner of new Set(rows.map((row) => row.owner))) {
    if (!(await tryLock(admin, owner))) continue
    for (const { name } of rows.filter((row) => row.owner === owner)) await dropDatabase(admin, name)
    await admin.query('select pg_advisory_unlock($1, $2)', [OWNER_LOCK, owner])
  }
}

async function dropDatabase(admin: pg.Client, name: string): Promise<void> {
  if (!name.startsWith(`${PREFIX}_`)) throw new Error(`"${name}" is not a test database`)
  await admin.query(`drop database if exists ${name} with (force)`)
}

/** The name of the migrated template. Creates it if the server has none. */
async function requireTemplate(
  admin: pg.Client,
  serverUrl: string,
  request: TemplateRequest,
): Promise<string> {
  const name = await templateName(request)
  await admin.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
  try {
    const { rows } = await admin.query('select 1 from pg_database where datname = $1', [name])
    if (rows.length > 0) return name
    await makeTemplate(admin, { serverUrl, name, request })
    return name
  } finally {
    await admin.query('select pg_advisory_unlock($1)', [TEMPLATE_LOCK])
  }
}

/** The tables of a template depend only on these files. */
async function templateName({ schema, setupVersion }: TemplateRequest): Promise<string> {
  const hash = createHash('sha256').update(`${schema}\0${setupVersion}\0${INSTALL_CLOCK}`)
  for (const { name, sql } of await migrationsIn(MIGRATIONS)) hash.update(`\0${name}\0${sql}`)
  return `${TEMPLATE_PREFIX}_${hash.digest('hex').slice(0, 20)}`
}

interface NewTemplate {
  readonly serverUrl: string
  readonly name: string
  readonly request: TemplateRequest
}

/**
 * Renamed when it is complete, so that a process that dies meanwhile leaves no incomplete template.
 */
async function makeTemplate(admin: pg.Client, { serverUrl, name, request }: NewTemplate): Promise<void> {
  const unfinished = `${name}_new`
  await admin.query(`drop database if exists ${unfinished} with (force)`)
  await admin.query(`create database ${unfinished}`)
  await setPath(admin, { database: unfinished, schema: request.schema })
  const url = urlOf(serverUrl, unfinished)
  const pool = setSchema(new pg.Pool({ connectionString: url, max: 1 }), request.schema)
  try {
    await pool.query(INSTALL_CLOCK)
    await migrate(pool)
  } finally {
    await pool.end()
  }
  // A migration may have set the search path of a role that has the name of the schema.
  await setPath(admin, { database: unfinished, schema: request.schema })
  await request.setup?.(url)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [unfinished])
  await admin.query(`alter database ${unfinished} rename to ${name}`)
  await admin.query(`alter database ${name} allow_connections false`)
}

/** For this role in this database, which overrides the settings of the role and of the database. */
async function setPath(
  admin: pg.Client,
  { database, schema }: { readonly database: string; readonly schema: string },
): Promise<void> {
  const { rows } = await admin.query<{ path: string; role: string }>(
    `select current_setting('search_path') as path, current_user as role`,
  )
  const path = pathWithClock(rows[0]?.path ?? '', rows[0]?.role === schema)
  await admin.query(`alter role current_user in database ${database} set search_path = ${path}`)
}

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.toString()
}
