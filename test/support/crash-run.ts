import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import pg from 'pg'
import { inject } from 'vitest'
import { type Attention, hookonce } from '../../src/index.ts'
import { crashHandler } from './crash-handler.mjs'
import { type Evidence, oracles } from './crash-oracles.ts'
import { type Downstream, type Reply, startDownstream } from './downstream.ts'
import { manyLedgers } from './many-ledgers.ts'
import { databaseUrl, TEMPLATE } from './servers.ts'
import { SENDER, signed, testSource } from './source.ts'
import { until } from './until.ts'

const HANDLER = ['the handler begins', 'the handler ends', 'before settle', 'after settle']
const CALL = ['before the call', 'during the call', 'after the call']
const around = (...statements: string[]): string[] =>
  statements.flatMap((name) => [`before ${name}`, `after ${name}`])
const EXTERNAL = [
  ...HANDLER,
  ...CALL,
  ...around('require_live', 'start_effect', 'the commit of start_effect', 'end_effect'),
]
const RECORDED = around('record_step', 'the commit of record_step')

/** The points at which a process can be stopped, by mode. */
const POINTS = {
  keyed: EXTERNAL,
  atMostOnce: EXTERNAL,
  atLeastOnce: EXTERNAL,
  reconcile: EXTERNAL,
  step: [...HANDLER, ...CALL, ...around('record_step')],
  tx: [...HANDLER, 'inside the transaction', ...RECORDED, ...around('start_effect', 'end_effect')],
  last: [
    'the handler begins',
    'the handler ends',
    ...around('complete_with_result', 'the commit of complete_with_result'),
  ],
  latest: [...HANDLER, 'inside the transaction', ...RECORDED, ...around('first_version')],
  write: [
    'the handler begins',
    'the handler ends',
    ...around('complete_written', 'the commit of complete_written'),
  ],
} as const satisfies Record<string, readonly string[]>

export type Mode = keyof typeof POINTS
export const modes = Object.keys(POINTS) as Mode[]

/** Two events request one effect, and a third event another effect. */
const EVENTS = [
  { id: 'evt_1', type: 'a', key: 'shared', version: 1 },
  { id: 'evt_2', type: 'a', key: 'shared', version: 2 },
  { id: 'evt_3', type: 'a', key: 'own', version: 1 },
]

interface Crash {
  readonly point: string
  readonly signal: 'SIGKILL' | 'SIGSTOP'
  /** The occurrence of the point, from 1. */
  readonly hit: number
  /**
   * Whether statements of one transaction are sent together, as they are unless the user passes a
   * pool.
   */
  readonly pipeline: boolean
}

/** One or two crashes: after a third crash of the same job, its payload would be blamed. */
function planOf(mode: Mode, seed: number): readonly Crash[] {
  const crash = fc.record({
    point: fc.constantFrom(...POINTS[mode]),
    signal: fc.constantFrom('SIGKILL', 'SIGSTOP') as fc.Arbitrary<Crash['signal']>,
    hit: fc.constantFrom(1, 1, 2),
    pipeline: fc.boolean(),
  })
  const [plan] = fc.sample(fc.array(crash, { minLength: 1, maxLength: 2 }), { seed, numRuns: 1 })
  return plan ?? []
}

/**
 * Short, so that a run takes seconds: a short lease, and a short idle limit for the locks of a
 * frozen process.
 */
const OPTIONS = { leaseMs: 1_000, pollMs: 20, retry: { baseDelayMs: 20, maxDelayMs: 100 } }
const SUBSCRIBER = { name: 'app', timeoutMs: 4_000 }

export interface CrashRun {
  /** The points at which a process was stopped. */
  readonly crashes: readonly string[]
  /** The faults at the end. */
  readonly fault: string | undefined
}

export async function crashRun(mode: Mode, seed: number): Promise<CrashRun> {
  const plan = planOf(mode, seed)
  const told = plan.map(({ point, signal, hit }) => `${signal} at "${point}" (${hit})`).join(', ')
  const world = await openWorld(mode)
  const crashes: string[] = []
  const frozen: CrashingApp[] = []
  try {
    await world.deliver()
    for (const crash of plan) {
      const app = startCrashing({ mode, crash, world })
      const stopped = await app.untilStopped()
      if (stopped) crashes.push(`${crash.signal} ${crash.point}`)
      if (stopped && crash.signal === 'SIGSTOP') frozen.push(app)
      else await app.end()
    }
    await world.finish()
    // Frozen processes continue when all work is done, and may do their remaining work.
    for (const app of frozen) await app.thawAndEnd()
    await world.settleAttention()
    const fault = await oracles[mode](world)
    return { crashes, fault: fault && `${told}: ${fault}` }
  } catch (error) {
    return { crashes, fault: `${told}: ${String(error)}` }
  } finally {
    for (const app of frozen) app.kill()
    await world.close()
  }
}

/** A database, the called service, and the process that takes over. */
export interface World extends Evidence {
  readonly url: string
  deliver(): Promise<void>
  /** Takes over, and waits until all work is done. */
  finish(): Promise<void>
  /** Decides on unknown effects by the records of the called service, and finishes. */
  settleAttention(): Promise<void>
  isSettled(): Promise<boolean>
  close(): Promise<void>
}

async function openWorld(mode: Mode): Promise<World> {
  const serverUrl = inject('serverUrl')
  const name = `crash_${randomBytes(6).toString('hex')}`
  const admin = new pg.Pool({ connectionString: serverUrl, max: 1 })
  await admin.query(`create database ${name} template ${TEMPLATE}`)
  const url = databaseUrl(serverUrl, name)
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  pool.on('error', () => undefined)
  await pool.query('create table applied (entity text, version int, at serial)')
  const downstream = await startDownstream()
  const hooks = hookonce({
    database: url,
    sources: { test: testSource() },
    ...manyLedgers({ url }),
    logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
    maxConnections: 4,
    ...OPTIONS,
  })
  const handler = crashHandler({ mode, downstream: downstream.url, reach: () => undefined })
  hooks.on('test', '*', handler, SUBSCRIBER)

  async function rows<Row>(text: string): Promise<Row[]> {
    return (await pool.query(text)).rows as Row[]
  }

  async function isSettled(): Promise<boolean> {
    const open = await rows(`select from hookonce.job where state in ('received', 'processing', 'retrying')`)
    return open.length === 0
  }

  async function finish(): Promise<void> {
    await hooks.start()
    await until('all jobs are settled', isSettled)
  }

  return {
    url,
    downstream,
    rows,
    isSettled,
    finish,
    async deliver() {
      for (const event of EVENTS) {
        const response = await hooks.fetch(new Request('http://app.test/in/test', signed(event)))
        if (response.status !== 202) throw new Error(`a delivery was answered ${response.status}`)
      }
    },
    async settleAttention() {
      // More than once: on a busy machine the successor may also lose its lease during a call.
      for (let round = 1; round <= MAX_DECISIONS; round += 1) {
        // A thawed process may have recorded an outcome late: the jobs that waited for it run.
        await until('all jobs are settled', isSettled)
        const unknown = await hooks.attention.list()
        if (unknown.length === 0) return
        for (const effect of unknown) await decideByTruth(hooks.attention, downstream, effect)
      }
      await until('all jobs are settled', isSettled)
    },
    async close() {
      await hooks.stop({ drainMs: 0 })
      downstream.close()
      await pool.end()
      await admin.query(`drop database ${name} with (force)`)
      await admin.end()
    },
  }
}

const MAX_DECISIONS = 10

async function decideByTruth(
  attention: Attention,
  downstream: Downstream,
  { key, downstreamKey }: { key: string; downstreamKey: string },
): Promise<void> {
  const truth = await fetch(`${downstream.url}/keys/${downstreamKey}`)
  const decision = { by: 'the test', why: 'asked the other side' }
  if (truth.ok) await attention.confirmDone(key, { ...decision, result: await truth.json() })
  else await attention.confirmNotDone(key, decision)
}

interface CrashingApp {
  /** False: it has done all work without reaching its point. */
  untilStopped(): Promise<boolean>
  thawAndEnd(): Promise<void>
  end(): Promise<void>
  kill(): void
}

const SCRIPT = fileURLToPath(new URL('./crash-app.mjs', import.meta.url))

interface CrashOptions {
  readonly mode: Mode
  readonly crash: Crash
  readonly world: World
}

/** The answers to the first call of each path. The successor gets normal answers. */
function hang(downstream: Downstream, replies: Reply[]): void {
  for (const name of ['shared', 'own', ...EVENTS.map(({ id }) => id)])
    downstream.reply(`/${name}`, ...replies)
}

function startCrashing({ mode, crash, world }: CrashOptions): CrashingApp {
  const duringCall = crash.point === 'during the call'
  if (duringCall) hang(world.downstream, ['hang'])
  const config = {
    database: world.url,
    sender: SENDER,
    downstream: world.downstream.url,
    mode,
    crash,
    options: { ...manyLedgers(world), ...OPTIONS },
    subscriber: SUBSCRIBER,
  }
  const child: ChildProcess = spawn(process.execPath, ['--no-deprecation', SCRIPT], {
    env: { ...process.env, APP_CONFIG: JSON.stringify(config) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const callsBefore = world.downstream.calls.length
  let crashed = false
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      crashed ||= 'crashed' in JSON.parse(line)
    })
  }
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null

  /**
   * It may still stop itself: the test may see the settled jobs before the process reports its
   * stop. A stopped process would not react to the request to end.
   */
  async function end(): Promise<void> {
    child.kill('SIGTERM')
    await until('the process has ended', () => isGone() || (child.kill('SIGCONT') && isGone()))
  }

  return {
    async untilStopped() {
      await until(`a crash at "${crash.point}", or the end of the work`, async () => {
        if (duringCall && !crashed && world.downstream.calls.length > callsBefore) {
          child.kill(crash.signal)
          crashed = true
          hang(world.downstream, [])
        }
        return crashed || isGone() || (await world.isSettled())
      })
      return crashed
    },
    thawAndEnd: end,
    end,
    kill: () => void (isGone() || child.kill('SIGKILL')),
  }
}
