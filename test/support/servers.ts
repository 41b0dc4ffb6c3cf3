import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { installDebian } from '../../scripts/debian.mjs'
import { viewOf } from '../../src/ledger/driver/schema.ts'
import { startEmbedded } from '../../src/ledger/embedded/embedded.ts'
import { migrate } from '../../src/ledger/migrations/migrate.ts'
import { dataFolder } from './data-folder.ts'
import { freePort } from './free-port.ts'
import { MORE_SCHEMAS, MORE_SERVERS } from './ledger-counts.ts'

/*
 * One server for all scenarios of a project. Each test gets its own database: a clone of a template
 * that was migrated once, or a clone that another test left empty (idle-databases.ts).
 */
declare module 'vitest' {
  export interface ProvidedContext {
    server: 'embedded' | 'installed'
    serverUrl: string
    /** Servers for other ledgers (many-ledgers.ts). */
    otherServerUrls: readonly string[]
  }
}

export const TEMPLATE = 'hookonce_template'
/** Four files run in parallel, and some of them run several gateways. */
const MAX_CONNECTIONS = 300

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const start = project.config.provide.server === 'installed' ? startInstalled : startForTests
  const server = await start()
  const others: TestServer[] = []
  while (others.length < MORE_SERVERS) others.push(await start())
  for (const { url } of [server, ...others]) {
    await spareTheDisk(url)
    await makeTemplate(url)
  }
  project.provide('serverUrl', server.url)
  project.provide(
    'otherServerUrls',
    others.map(({ url }) => url),
  )
  return async () => {
    for (const { stop } of [server, ...others]) await stop()
  }
}

interface TestServer {
  readonly url: string
  stop(): Promise<void>
}

async function startForTests(): Promise<TestServer> {
  const dir = mkdtempSync(join(dataFolder(), 'hookonce-embedded-'))
  chmodSync(dir, 0o755) // as root the server runs as another user, who must get in
  const first = await startEmbedded({ dir })
  await query(first.url, `alter system set max_connections = ${MAX_CONNECTIONS}`)
  // The server stops when its last user leaves.
  await first.leave()
  const server = await startEmbedded({ dir })
  return {
    url: server.url,
    async stop() {
      await server.leave()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** A cluster of the installed PostgreSQL. On Debian as root, a missing PostgreSQL is installed. */
async function startInstalled(): Promise<TestServer> {
  const cluster = await makeCluster()
  cluster.start()
  return {
    url: cluster.url,
    async stop() {
      cluster.stop()
      cluster.remove()
    },
  }
}

/** An installed PostgreSQL that can be stopped and started again at the same port. */
export interface Cluster {
  readonly url: string
  /** Holds its data directory and its log. */
  readonly dir: string
  /** Blocks this process, like `stop`. */
  start(): void
  /** Like a power failure: nothing is flushed, and no connection is closed. */
  stop(): void
  /** Like `crash`, without blocking other work of this process. */
  started(): Promise<void>
  stopped(): Promise<void>
  /** Stops every process of the server with SIGSTOP: connections stay, and nothing answers. */
  freeze(): void
  thaw(): void
  /** Makes a standby the primary. */
  promote(): void
  promoted(): Promise<void>
  /** Whether its postmaster runs: it may have given up, for example on a full disk. */
  isRunning(): boolean
  remove(): void
}

export interface ClusterOptions {
  /** Makes a standby that follows the server at this URL. */
  readonly primaryUrl?: string | undefined
  /** The parent folder of the cluster. */
  readonly within?: string | undefined
  /** Additional settings, as `name=value` without spaces. */
  readonly settings?: readonly string[] | undefined
}

/** A new cluster, or a standby. */
export async function makeCluster({
  primaryUrl,
  within = dataFolder(),
  settings: more = [],
}: ClusterOptions = {}): Promise<Cluster> {
  const bin = installedBinaries() ?? installByApt()
  const dir = mkdtempSync(join(within, 'hookonce-installed-'))
  const account = unprivileged()
  if (account) await chown(dir, account.uid, account.gid)
  const run = (command: string, args: readonly string[]): void => {
    const result = spawnSync(join(bin, command), args, {
      ...account,
      encoding: 'utf8',
      cwd: dir,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (result.status !== 0)
      throw new Error(`${command} failed: ${result.error ?? ''}${result.stdout}${result.stderr}`)
  }
  const runBeside = async (command: string, args: readonly string[]): Promise<void> => {
    // The server that pg_ctl starts inherits its output: a pipe would stay open.
    const child = spawn(join(bin, command), args, { ...account, cwd: dir, stdio: 'ignore' })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`${command} ${args.at(-1)} ended with ${code}; see ${dir}/log`)
  }
  const data = join(dir, 'data')
  const port = await freePort()
  if (primaryUrl === undefined) {
    run('initdb', ['-D', data, '-U', 'hookonce', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'])
  } else {
    // A large copy takes long. The caller's other work continues meanwhile.
    const copy = ['-d', primaryUrl, '-D', data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync']
    await promisify(execFile)(join(bin, 'pg_basebackup'), copy, { ...account, cwd: dir })
  }
  const own = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `max_connections=${MAX_CONNECTIONS}`]
  const settings = [`-p ${port}`, ...[...own, ...more].map((setting) => `-c ${setting}`)].join(' ')
  const isRunning = (): boolean => {
    const file = join(data, 'postmaster.pid')
    return existsSync(file) && isAlive(Number.parseInt(readFileSync(file, 'utf8'), 10))
  }
  const start = ['-D', data, '-w', '-l', join(dir, 'log'), '-o', settings, 'start']
  const stop = ['-D', data, '-w', '-m', 'immediate', 'stop']
  const promote = ['-D', data, '-w', 'promote']
  return {
    url: `postgres://hookonce@127.0.0.1:${port}/postgres`,
    dir,
    start: () => run('pg_ctl', start),
    stop: () => run('pg_ctl', stop),
    started: () => runBeside('pg_ctl', start),
    stopped: () => runBeside('pg_ctl', stop),
    freeze: () => signalServer(data, 'SIGSTOP'),
    thaw: () => signalServer(data, 'SIGCONT'),
    promote: () => run('pg_ctl', promote),
    promoted: () => runBeside('pg_ctl', promote),
    isRunning,
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

/** As `pg_ctl status` does, without a process of its own. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The postmaster comes first: frozen, it starts no process that the list would miss. */
function signalServer(data: string, signal: NodeJS.Signals): void {
  const postmaster = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
  process.kill(postmaster, signal)
  const listed = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  for (const line of listed.trim().split('\n')) {
    const [pid, parent] = line.trim().split(/\s+/).map(Number)
    if (parent === postmaster && pid !== undefined) signalIfAlive(pid, signal)
  }
}

/** A backend may have ended since it was listed. */
function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

export function installedBinaries(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).filter((version) => Number(version) >= 14) : []
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0]
  if (newest !== undefined) return join(debian, newest, 'bin')
  const config = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' })
  const dir = config.status === 0 ? config.stdout.trim() : undefined
  return dir !== undefined && existsSync(join(dir, 'initdb')) ? dir : undefined
}

function installByApt(): string {
  const missing =
    'the tests need a PostgreSQL of version 14 or later: install it so that `pg_config --bindir` finds it'
  installDebian('postgresql', missing)
  const bin = installedBinaries()
  if (bin === undefined) throw new Error('apt-get installed no PostgreSQL of version 14 or later')
  return bin
}

/** PostgreSQL refuses to run as root. */
export function unprivileged(): { uid: number; gid: number } | undefined {
  if (userInfo().uid !== 0) return undefined
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** These tests kill processes and servers, but no machine: written data survives without a sync. */
async function spareTheDisk(url: string): Promise<void> {
  await query(url, 'alter system set fsync = off')
  await query(url, 'select pg_reload_conf()')
}

async function query(url: string, text: string): Promise<void> {
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  await admin.query(text)
  await admin.end()
}

export async function makeTemplate(url: string): Promise<void> {
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  await admin.query(`create database ${TEMPLATE}`)
  await admin.query('create table idle_database (name text primary key, signature text not null)')
  // A migration makes this setting for a role with the name of the schema, in one database. It is
  // made here for every database, because clones do not inherit it.
  await admin.query('alter role current_user set search_path = public')
  await admin.end()
  const pool = new pg.Pool({ connectionString: databaseUrl(url, TEMPLATE), max: 1 })
  await migrate(pool)
  for (const schema of MORE_SCHEMAS) await migrate(viewOf(pool, schema))
  await pool.query(`
    create table public.run (receipt_id uuid, type text, attempt int, pid int, at timestamptz default clock_timestamp());
    create table public.effect (receipt_id uuid, type text, pid int, at timestamptz default clock_timestamp());`)
  await pool.end()
}

export function databaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.toString()
}
