import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Hookonce } from '../hookonce.ts'
import { setSchema } from '../ledger/driver/schema.ts'
import { checkSchema } from '../ledger/migrations/migrate.ts'
import { readJobs } from '../ledger/testing/progress.ts'
import { HOUR_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import { DEFAULT_SCHEMA } from '../model/schema-name.ts'
import { prune } from '../operate/prune.ts'
import type { Sources } from '../options.ts'
import { openClock } from './clock.ts'
import type { FaultOptions, HooksFactory, TestHooks, TestHooksOptions } from './contract.ts'
import { deliverer } from './deliver.ts'
import { startDownstream } from './downstream.ts'
import { effectHistory } from './effects.ts'
import { type ArmedFault, type CrashPoint, type FaultKind, type Faults, faults } from './faults.ts'
import { journal } from './journal.ts'
import { permutations } from './permutations.ts'
import type { TestProcess } from './process.ts'
import { processes } from './processes.ts'
import { tableRows } from './rows.ts'
import { testDatabases } from './server.ts'
import { settle } from './settle.ts'
import { requireSeat } from './test-options.ts'

/**
 * Runs hooks that were not started yet, or those that a factory makes, on a fresh database.
 *
 * ```ts
 * await using t = await testHooks(hooks)
 * await t.deliver('stripe', 'invoice.paid', { data: { object: { id: 'in_1' } } }, { times: 3 })
 * await t.settled()
 * ```
 */
export async function testHooks<S extends Sources>(
  given: Hookonce<S> | HooksFactory<S>,
  options: TestHooksOptions = {},
): Promise<TestHooks<S>> {
  const schema =
    typeof given === 'function' ? (options.schema ?? DEFAULT_SCHEMA) : requireSeat(given).options.schema
  const databases = await testDatabases(options.server)
  const setupVersion = versionOf(options)
  const database = await databases.clone({ schema, setup: options.setup, setupVersion })
  const pool = setSchema(new pg.Pool({ connectionString: database, max: 4, allowExitOnIdle: true }), schema)
  pool.on('error', () => undefined)
  const downstream = await startDownstream()
  const armed = faults()
  const close = async (): Promise<void> => {
    await downstream.close()
    await pool.end()
    await databases.drop(database)
  }
  try {
    return await assemble({ given, options, schema, database, pool, downstream, armed, close })
  } catch (error) {
    await close()
    throw error
  }
}

interface Parts<S extends Sources> {
  readonly given: Hookonce<S> | HooksFactory<S>
  readonly options: TestHooksOptions
  readonly schema: string
  readonly database: string
  readonly pool: pg.Pool
  readonly downstream: TestHooks<S>['downstream']
  readonly armed: Faults
  readonly close: () => Promise<void>
}

async function assemble<S extends Sources>(parts: Parts<S>): Promise<TestHooks<S>> {
  const { given, options, schema, database, pool, downstream, armed } = parts
  const tables = { pool, shards: (await checkSchema(pool)).shards }
  const log = journal(pool)
  let prunedAtMs = Date.now()
  const clock = await openClock({
    pool,
    async onMoved(nowMs) {
      for (const process of running.all) await process.timeMoved()
      // Retention is counted in days, but most moves of the clock are as short as the delay of a
      // retry.
      if (nowMs - prunedAtMs < HOUR_MS) return
      prunedAtMs = nowMs
      await prune(tables, NOTHING_COUNTED)
    },
  })
  const { shiftMs } = clock
  const running = processes<S>({
    given,
    options,
    database,
    schema,
    tables,
    downstream,
    faults: armed,
    log,
    shiftMs,
  })
  const { idle } = running
  let isClosed = false
  try {
    await running.start()
  } catch (error) {
    await running.close().catch(() => undefined)
    throw error
  }
  const provider = deliverer<S>({
    seat: () => requireSeat(running.current.hooks),
    door: () => running.current.door,
    clock,
    idle,
    pathOf: options.path ?? ((source) => `/webhooks/${source}`),
  })

  const arm = (kind: FaultKind, point: CrashPoint, time: number): ArmedFault => {
    const fault = armed.arm(kind, point, time)
    running.arm(fault)
    return fault
  }

  const self: TestHooks<S> = {
    get hooks() {
      return running.current.hooks
    },
    database,
    pool,
    clock,
    downstream,
    deliver: provider.deliver,
    settled: (wait = {}) => settle({ pool, clock, idle, inFlight: provider.inFlight, log, wait }),
    waitFor: (filter, wait = {}) => log.waitFor(filter, wait),
    jobs: () => readJobs(pool),
    effects: (key) => effectHistory(pool, key, log.effectCalls(key)),
    rows: (table) => tableRows(pool, table),
    crashAt: (point, fault = {}) => arm('crash', point, timeOf(fault)),
    async freeze({ at, ...fault } = {}) {
      const { process } = running.current
      if (at === undefined) {
        await running.carryOut('freeze', process)
        await idle()
      } else arm('freeze', at, timeOf(fault))
      return { thaw: () => thawFirst(running.all, at === undefined ? process : undefined) }
    },
    async loseLease({ at, ...fault } = {}) {
      if (at === undefined) await running.carryOut('loseLease', running.current.process)
      else arm('loseLease', at, timeOf(fault))
    },
    permutations: permutations<S>({
      open: () => testHooks(given, options),
      // The hooks were on other databases meanwhile, unless a factory makes them.
      restore: async () => {
        if (typeof given !== 'function') await running.start()
      },
    }),
    async close() {
      if (isClosed) return
      isClosed = true
      await running.close()
      await parts.close()
      requireReached(armed)
    },
    [Symbol.asyncDispose]: () => self.close(),
  }
  return self
}

/** `prune` uses it only to report progress. */
const NOTHING_COUNTED = { bodies: 0, receipts: 0, messages: 0, isComplete: false }

function thawFirst(all: readonly TestProcess[], frozen: TestProcess | undefined): void {
  const process = frozen ?? all.find(({ state }) => state === 'frozen')
  if (process) return process.thaw()
  throw new HookonceError(
    'TEST_POINT_UNREACHED',
    'thaw(): no process is frozen yet; wait until its point is reached',
  )
}

function requireReached({ unreached: [missed] }: Faults): void {
  if (!missed) return
  const call =
    missed.kind === 'crash' ? `crashAt('${missed.point}')` : `${missed.kind}({ at: '${missed.point}' })`
  throw new HookonceError('TEST_POINT_UNREACHED', `${call} was never reached`)
}

function timeOf({ time = 1 }: FaultOptions): number {
  if (Number.isInteger(time) && time >= 1) return time
  throw new HookonceError('CONFIG_INVALID', `time must be a whole number from 1; it is ${time}`)
}

function versionOf({ setup, setupVersion = '' }: TestHooksOptions): string {
  const text = `${setup === undefined ? '' : String(setup)}\0${setupVersion}`
  return createHash('sha256').update(text).digest('hex')
}
