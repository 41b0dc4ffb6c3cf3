import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { type Hookonce, hookonce } from '../../src/index.ts'
import { migrate } from '../../src/ledger/migrations/migrate.ts'
import { type Downstream, startDownstream } from '../support/downstream.ts'
import { type Proxy as Network, proxyTo } from '../support/proxy.ts'
import { type Cluster, makeCluster } from '../support/servers.ts'
import { SENDER, testSource } from '../support/source.ts'
import { startTalking, type TalkingProcess } from '../support/talking-process.ts'

/*
 * A PostgreSQL that can crash, processes of an app that can die, a network between each of them and
 * the database that can fail, and another side that records every call.
 */
export interface World {
  readonly cluster: Cluster
  readonly apps: readonly ChaosApp[]
  readonly downstream: Downstream
  /** Looks at the database directly, and acts as a person does. It runs no worker. */
  readonly person: Hookonce<{ test: ReturnType<typeof testSource> }>
  readonly pool: pg.Pool
}

/** A place for a process: whoever runs in it, its address and its network stay the same. */
export interface ChaosApp {
  readonly name: string
  readonly network: Network
  /** Undefined: no process runs. */
  url(): string | undefined
  kill(): void
  freeze(): void
  thaw(): void
  /** Whether it stands still, or did a moment ago. */
  readonly isFrozen: boolean
  /** Asks it to stop, and waits until it has. */
  stop(): Promise<void>
  start(): Promise<void>
}

const SCRIPT = fileURLToPath(new URL('./app.mjs', import.meta.url))
const BUILT = fileURLToPath(new URL('../../dist', import.meta.url))

const TABLES = `
  create table public.written (event text not null, at bigserial);
  create table public.transacted (event text not null, at bigserial);
  create table public.version (entity text not null, version int not null, at bigserial);
  create table public.sequence (entity text not null, event text not null, at bigserial);`

export interface WorldOptions {
  readonly processes: number
  /** A build that is broken on purpose. */
  readonly dist?: string | undefined
}

export async function openWorld({ processes, dist = BUILT }: WorldOptions): Promise<World> {
  const cluster = await makeCluster()
  cluster.start()
  onTestFinished(() => {
    cluster.stop()
    cluster.remove()
  })
  const pool = new pg.Pool({ connectionString: cluster.url, max: 3 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  // What no commit waited for is lost in a crash. Whoever promises durability must ask for it.
  await pool.query(`alter system set wal_writer_delay = '10s'`)
  await pool.query('alter system set synchronous_commit = off')
  await pool.query('select pg_reload_conf()')
  await migrate(pool)
  await pool.query(TABLES)
  const downstream = await startDownstream()
  const apps = await Promise.all(
    Array.from({ length: processes }, (_, at) => placeFor(`app ${at + 1}`, { cluster, downstream, dist })),
  )
  await Promise.all(apps.map((app) => app.start()))
  const quiet = () => undefined
  const person = hookonce({
    database: cluster.url,
    sources: { test: testSource({ unwanted: 'record' }) },
    logger: { info: quiet, warn: quiet, error: quiet },
    maxConnections: 3,
  })
  onTestFinished(() => person.stop({ drainMs: 0 }))
  return { cluster, apps, downstream, person, pool }
}

/** In which a process that goes on sends what it was about to send. */
const MOMENT_MS = 1_000

interface Surroundings {
  readonly cluster: Cluster
  readonly downstream: Downstream
  readonly dist: string
}

async function placeFor(name: string, { cluster, downstream, dist }: Surroundings): Promise<ChaosApp> {
  const network = await proxyTo(cluster.url)
  let running: TalkingProcess | undefined
  let port: number | undefined
  let frozenUntil = 0
  return {
    name,
    network,
    url: () => (running && port !== undefined ? `http://127.0.0.1:${port}/in/test` : undefined),
    kill() {
      running?.kill('SIGKILL')
      running = undefined
    },
    freeze() {
      running?.kill('SIGSTOP')
      frozenUntil = Number.POSITIVE_INFINITY
    },
    thaw() {
      running?.kill('SIGCONT')
      frozenUntil = performance.now() + MOMENT_MS
    },
    get isFrozen() {
      return performance.now() < frozenUntil
    },
    async stop() {
      const ended = running
      running = undefined
      ended?.kill('SIGTERM')
      await ended?.exited()
    },
    async start() {
      const config = { database: network.url, sender: SENDER, downstream: downstream.url, dist }
      const started = startTalking(SCRIPT, { config })
      const ready = await started.says('ready')
      port = Number(ready.port)
      running = started
    },
  }
}
