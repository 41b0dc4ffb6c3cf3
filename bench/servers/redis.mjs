// @ts-check
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { endedInAnyCase } from './leftovers.mjs'

const READY_WITHIN_MS = 10_000

/**
 * A private Redis on its own port and directory, with the append-only file on.
 *
 * @param {'everysec' | 'always'} appendfsync
 */
export async function startRedis(appendfsync) {
  const dir = await mkdtemp(join(tmpdir(), 'hookonce-bench-redis-'))
  const port = await freePort()
  const settings = { bind: '127.0.0.1', port, dir, save: '', appendonly: 'yes', appendfsync }
  const server = spawn(
    'redis-server',
    Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    { stdio: 'ignore' },
  )
  const stop = endedInAnyCase(async () => {
    client.disconnect()
    server.kill('SIGKILL')
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
    await rm(dir, { recursive: true, force: true })
  })
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50, lazyConnect: true })
  // Connections are refused during the start. The deadline below reports a lasting failure.
  client.on('error', () => undefined)
  await Promise.race([
    client
      .connect()
      .catch(() => undefined)
      .then(() => client.ping()),
    delay(READY_WITHIN_MS, undefined, { ref: false }).then(() => {
      throw new Error(`redis-server did not answer on port ${port} within ${READY_WITHIN_MS} ms`)
    }),
  ])

  return { port, client, pid: server.pid, stop }
}

/** @typedef {Awaited<ReturnType<typeof startRedis>>} RedisServer */

/** The version of redis-server. Installs a missing server if possible. */
export function requireRedis() {
  const found = version()
  if (found) return found
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    process.stderr.write('redis-server is missing: installing it with apt-get\n')
    // RUNLEVEL=1 prevents the package from starting its server.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
    const install = ['install', '-y', '--no-install-recommends', 'redis-server']
    if (spawnSync('apt-get', install, { env }).status !== 0) {
      spawnSync('apt-get', ['update'], { env })
      spawnSync('apt-get', install, { env })
    }
    const installed = version()
    if (installed) return installed
  }
  throw new Error(
    'BullMQ needs redis-server in the PATH: install it (Debian: apt-get install redis-server; macOS: brew install redis), ' +
      'or leave BullMQ out with --contenders',
  )
}

function version() {
  const shown = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  return shown.status === 0 ? /v=(\S+)/.exec(shown.stdout)?.[1] : undefined
}

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  server.close()
  await once(server, 'close')
  return port
}
