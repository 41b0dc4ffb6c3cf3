import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { installDebian } from '../../scripts/debian.mjs'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

/** The test's own redis-server, with its own port and directory. */
export interface RedisServer {
  readonly port: number
  readonly url: string
  readonly pid: number
  /** Kills it, like a power cut. */
  kill(): Promise<void>
  /** Starts it on the same port, with the content of its append-only file. */
  start(): Promise<void>
  remove(): Promise<void>
}

export async function startRedis(more: Record<string, string> = {}): Promise<RedisServer> {
  requireRedis()
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-redis-'))
  const port = await freePort()
  const settings = {
    bind: '127.0.0.1',
    port: String(port),
    dir,
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
    'maxmemory-policy': 'noeviction',
    ...more,
  }
  let child: ChildProcess | undefined
  async function start(): Promise<void> {
    child = spawn(
      'redis-server',
      Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
      { stdio: 'ignore' },
    )
    const client = quietClient(port)
    await until(`redis-server answers on port ${port}`, () => client.ping().catch(() => undefined))
    client.disconnect()
  }
  async function kill(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  await start()
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return child?.pid ?? 0
    },
    start,
    kill,
    async remove() {
      await kill()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export interface RedisCluster {
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  remove(): Promise<void>
}

/** Three masters without replicas, which cover all slots. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const servers = await Promise.all(
    [1, 2, 3].map(() => startRedis({ 'cluster-enabled': 'yes', 'cluster-node-timeout': '5000' })),
  )
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`)
  execFileSync(
    'redis-cli',
    ['--cluster', 'create', ...addresses, '--cluster-replicas', '0', '--cluster-yes'],
    {
      stdio: 'ignore',
    },
  )
  for (const { port } of servers) {
    const client = quietClient(port)
    await until(`node ${port} knows the whole cluster`, async () =>
      (await client.cluster('INFO')).includes('cluster_state:ok'),
    )
    client.disconnect()
  }
  return {
    nodes: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    remove: async () => void (await Promise.all(servers.map((server) => server.remove()))),
  }
}

function quietClient(port: number): Redis {
  // Connections are refused during the start.
  return new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50 }).on('error', () => undefined)
}

export function requireRedis(): void {
  if (spawnSync('redis-server', ['--version']).status === 0) return
  const missing = 'the tests need redis-server and redis-cli in the PATH: install Redis 6.2 or later'
  installDebian('redis-server', missing)
}
