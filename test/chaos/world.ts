import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { type Hookonce, hookonce } from '../../src/index.ts'
import { type Downstream, startDownstream } from '../support/downstream.ts'
import type { Proxy as Network } from '../support/proxy.ts'
import { startTalking, type TalkingProcess } from '../support/talking-process.ts'
import { until } from '../support/until.ts'
import { type ChaosDatabase, openDatabase, type Standby } from './database.ts'
import { DATED_SENDER, datedSource } from './events.ts'
import { type History, openHistory } from './history.ts'
import { AGES, type LedgerClock, migrateWithClock, openLedgerClock } from './ledger-clock.ts'

/*
 * A PostgreSQL that can crash, processes of an app that can die, a network that can fail between
 * each process and the database, and a service that records every call.
 */
export interface World {
  readonly database: ChaosDatabase
  readonly apps: readonly ChaosApp[]
  readonly downstream: Downstream
  readonly history: History
  /** Reads the database directly, and acts for the operator. It runs no worker. */
  readonly person: Hookonce<{ test: ReturnType<typeof datedSource> }>
  readonly pool: pg.Pool
  readonly clock: LedgerClock
  readonly directUrl: string
  /** The number of the last event that was sent. */
  newest: number
  /** How many deliveries were answered that their event is recorded as new. */
  recorded: number
  /** How far the clock of the senders is ahead. */
  sendersAheadMs: number
  /**
   * The current name of the subscriber that is renamed. Processes that start from now on use it.
   */
  renamed: string
  /** Processes that ended although nobody asked them to, with their last words. */
  readonly deaths: string[]
}

/** What the process of a place does. A receiver hands its jobs over to the workers in the ledger. */
export type Role = 'receives and works' | 'receives' | 'works'

/** A place for a process. Its address and its network stay the same for each process in it. */
export interface ChaosApp {
  readonly name: string
  readonly role: Role
  readonly network: Network
  /** Where it listens. Undefined: no process runs. */
  readonly port: number | undefined
  kill(): void
  freeze(): void
  thaw(): void
  /** Whether the process is frozen, or was frozen a moment ago. */
  readonly isFrozen: boolean
  /** Shifts the clock of the process by this time. */
  setClock(aheadMs: number): Promise<void>
  /** Requests a stop, and waits for it. */
  stop(): Promise<void>
  start(): Promise<void>
}

const SCRIPT = fileURLToPath(new URL('./app.mjs', import.meta.url))
const BUILT = fileURLToPath(new URL('../../dist', import.meta.url))

export const HANDLER_TABLES = `
  create table public.written (event integer not null, at bigserial);
  create table public.transacted (event integer not null, at bigserial);
  create table public.renamed (event integer not null, at bigserial);
  create table public.version (entity text not null, event integer not null, at bigserial);
  create table public.sequence (entity text not null, event integer not null, at bigserial);`

export interface WorldOptions {
  /** One process for each. */
  readonly roles: readonly Role[]
  readonly standby: Standby
  /** A build that is broken on purpose. */
  readonly dist?: string | undefined
}

export async function openWorld({ roles, standby, dist = BUILT }: WorldOptions): Promise<World> {
  const database = await openDatabase(standby)
  const direct = await database.network()
  const pool = new pg.Pool({ connectionString: direct.url, max: 3 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  await migrateWithClock(pool, direct.url)
  await pool.query(HANDLER_TABLES)
  const history = openHistory()
  onTestFinished(history.remove)
  const clock = openLedgerClock(direct.url, history)
  onTestFinished(clock.close)
  const downstream = await recordingDownstream(history)
  const quiet = () => undefined
  const person = hookonce({
    database: direct.url,
    sources: { test: datedSource() },
    retention: AGES.retention,
    logger: { info: quiet, warn: quiet, error: quiet },
    maxConnections: 3,
  })
  onTestFinished(() => person.stop({ drainMs: 0 }))
  const places = await Promise.all(roles.map(async (role) => ({ role, network: await database.network() })))
  const deaths: string[] = []
  const onDeath = (text: string): void => void deaths.push(`at ${history.now()} ms: ${text}`)
  const apps = places.map((place, at) => placeFor(`app ${at + 1}`, { ...place, configFor, onDeath }))
  const world: World = {
    ...{ database, apps, downstream, history, person, pool, clock, directUrl: direct.url },
    ...{ newest: 0, recorded: 0, sendersAheadMs: 0, renamed: 'renamed 1' },
    deaths,
  }
  function configFor({ role, network }: Pick<Place, 'role' | 'network'>): object {
    const { renamed } = world
    const isWorking = role !== 'receives'
    return {
      ...{ database: network.url, sender: DATED_SENDER, downstream: downstream.url },
      ...{ dist, renamed, isWorking, ages: AGES },
    }
  }
  await Promise.all(apps.map((app) => app.start()))
  // The preparation of a test must not be lost.
  await pool.query('checkpoint')
  return world
}

function recordingDownstream(history: History): Promise<Downstream> {
  return startDownstream({
    onCall({ path, key, acted }, reply) {
      const [, kind = '', event] = path.split('/')
      const call = { event: Number(event), kind, key, acted, reply: String(reply) }
      history.add('call', { ...call, at_ms: history.now() })
    },
  })
}

/** The time in which a resumed process sends the requests that it was about to send. */
const MOMENT_MS = 1_000

/** In which a process must stop that is asked to. Orchestrators kill it then. */
const STOP_MS = 20_000
/** The database may be down when a process starts: it is started again, as by a supervisor. */
const START_MS = 300_000

interface Place {
  readonly role: Role
  readonly network: Network
  readonly configFor: (place: Pick<Place, 'role' | 'network'>) => object
  readonly onDeath: (text: string) => void
}

function placeFor(name: string, { role, network, configFor, onDeath }: Place): ChaosApp {
  let running: TalkingProcess | undefined
  let port: number | undefined
  let frozenUntil = 0

  let errors = ''

  async function startOnce(): Promise<boolean> {
    const started = startTalking(SCRIPT, { config: configFor({ role, network }) })
    errors = ''
    started.process.stderr?.on('data', (chunk) => {
      errors = `${errors}${String(chunk)}`.slice(-2_000)
    })
    let hasExited = false
    void started.exited().then(() => {
      hasExited = true
    })
    const isReady = (): boolean => started.said.some((line) => 'ready' in line)
    await until(`${name} is ready`, () => isReady() || hasExited, START_MS)
    const ready = started.said.find((line) => 'ready' in line)
    if (!ready || hasExited) return false
    port = Number(ready.port)
    running = started
    void started.exited().then((code) => {
      if (running !== started) return
      running = undefined
      onDeath(`${name} ended with ${code}: ${errors}`)
    })
    return true
  }

  return {
    name,
    role,
    network,
    get port() {
      return running && port
    },
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
    async setClock(aheadMs) {
      if (!running) return
      const reply = await fetch(`http://127.0.0.1:${port}/clock/${aheadMs}`, { method: 'POST' })
      await reply.arrayBuffer()
    },
    async stop() {
      const ended = running
      running = undefined
      ended?.kill('SIGTERM')
      const late = setTimeout(() => {
        ended?.kill('SIGKILL')
        onDeath(`${name} did not stop within ${STOP_MS} ms`)
      }, STOP_MS)
      await ended?.exited()
      clearTimeout(late)
    },
    async start() {
      const end = performance.now() + START_MS
      while (!(await startOnce()))
        if (performance.now() > end) throw new Error(`${name} does not start: ${errors}`)
    },
  }
}
