import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HookonceError } from '../../model/errors.ts'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { type Home, hasCode, openLog, readSmallFile } from './home.ts'
import { host } from './port.ts'
import { identityOf, isPostmasterOf } from './processes.ts'
import { cannotRun, spawnOptions } from './run.ts'

/** The contents of postmaster.pid. */
export interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly ready: boolean
}

// A fast stop writes at most shared_buffers (128 MB) to disk; pg_ctl also waits for 60 s.
const stopWithinMs = 60_000

export async function readPidFile(dataDir: string): Promise<Postmaster | undefined> {
  // Lines: pid, data directory, start time, port, socket directory, listen address, shared memory,
  // status.
  const lines = (await readSmallFile(join(dataDir, 'postmaster.pid')))?.split('\n') ?? []
  const pid = Number(lines[0])
  if (!(pid > 0)) return undefined
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

/**
 * The running postmaster of this data directory, if there is one: the pid file alone may be left
 * from a crash.
 */
export async function runningPostmaster(dataDir: string): Promise<Postmaster | undefined> {
  const postmaster = await readPidFile(dataDir)
  return postmaster !== undefined && (await isPostmasterOf(postmaster.pid, dataDir)) ? postmaster : undefined
}

export interface Spawned {
  readonly pid: number
  /** Where the lines of this start begin in the log. */
  readonly logFrom: number
  hasEnded(): boolean
}

/**
 * Starts the server in its own session, so that neither Ctrl-C nor our death stops it: other users
 * keep it, and the next start adopts it.
 */
export async function spawnPostmaster(
  home: Home,
  start: { dataDir: string; port: number; binaries: Binaries; account: Account | undefined },
): Promise<Spawned> {
  const { postgres } = start.binaries
  const stale = await readPidFile(start.dataDir)
  // The pid of a crashed postmaster may now belong to another program, which PostgreSQL would take
  // for a live postmaster. PostgreSQL ignores the pid of its grandparent, so we pass it as such.
  // Removing the pid file instead would also disable the check for orphans of the crash.
  const environment = stale === undefined ? {} : { PG_GRANDPARENT_PID: String(stale.pid) }
  const log = await openLog(home)
  try {
    const child = spawn(postgres, serverArguments(start), {
      ...spawnOptions(start.account, environment),
      detached: true,
      stdio: ['ignore', log.file.fd, log.file.fd],
    })
    const pid = await startedPid(child, postgres)
    child.unref()
    return { pid, logFrom: log.from, hasEnded: () => child.exitCode !== null || child.signalCode !== null }
  } finally {
    await log.file.close()
  }
}

/**
 * A fast stop: sessions end, and everything is written to disk. Returns when the server is down.
 */
export async function stopPostmaster(dataDir: string): Promise<void> {
  const postmaster = await runningPostmaster(dataDir)
  if (postmaster === undefined) return
  const identity = await identityOf(postmaster.pid)
  interrupt(postmaster.pid)
  const deadline = performance.now() + stopWithinMs
  while (identity !== undefined && (await identityOf(postmaster.pid)) === identity) {
    if (performance.now() > deadline) {
      throw new HookonceError(
        'EMBEDDED_FAILED',
        `the embedded PostgreSQL (pid ${postmaster.pid}) did not stop within ${stopWithinMs / 1000} s.`,
      )
    }
    await delay(5)
  }
}

function interrupt(pid: number): void {
  try {
    process.kill(pid, 'SIGINT')
  } catch (error) {
    // It has already ended.
    if (!hasCode(error, 'ESRCH')) throw error
  }
}

function serverArguments(start: { dataDir: string; port: number }): string[] {
  const settings = {
    listen_addresses: host,
    port: String(start.port),
    // No sockets: their paths are limited to some 100 bytes, and a project's path may be longer.
    unix_socket_directories: '',
    // Acknowledged commits must be on disk. Set here, so that no line in postgresql.conf can undo
    // it.
    fsync: 'on',
    synchronous_commit: 'on',
    log_checkpoints: 'off',
  }
  return [
    '-D',
    start.dataDir,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
}

async function startedPid(child: ChildProcess, program: string): Promise<number> {
  try {
    await once(child, 'spawn')
  } catch (error) {
    throw cannotRun(program, error)
  }
  if (child.pid === undefined) throw cannotRun(program, new Error('it has no pid'))
  return child.pid
}
