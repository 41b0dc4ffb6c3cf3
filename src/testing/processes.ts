import type { RequestListener } from 'node:http'
import type { Hookonce } from '../hookonce.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { endIdleTransactions, endLeases, livingWorkers } from '../ledger/testing/clock.ts'
import { observers } from '../observe/observer.ts'
import type { Sources } from '../options.ts'
import { rescue } from '../upkeep/rescue.ts'
import { startChild } from './child-process.ts'
import type { HooksFactory, TestApp, TestHooksOptions } from './contract.ts'
import { type Door, openDoor } from './door.ts'
import type { Downstream } from './downstream.ts'
import { type ArmedFault, type FaultKind, type Faults, hosted, type PendingFault } from './faults.ts'
import type { Journal } from './journal.ts'
import { type SimulatedProcess, simulatedProcess, type TestProcess } from './process.ts'
import { startProxy } from './proxy.ts'
import { movedSource, requireSeat, testOptions } from './test-options.ts'

/** The processes of one test, in sequence or in parallel. */
export interface Processes<S extends Sources> {
  /** The newest process, which gets the deliveries. */
  readonly current: RunningProcess<S>
  readonly all: readonly TestProcess[]
  start(): Promise<void>
  /** Resolves when the run at a fault may continue. */
  carryOut(kind: FaultKind, process: TestProcess): Promise<void>
  /** Sends an armed fault to the real processes. */
  arm(fault: PendingFault): void
  /** Resolves when no process is being replaced. */
  idle(): Promise<void>
  close(): Promise<void>
}

export interface RunningProcess<S extends Sources> {
  readonly hooks: Hookonce<S>
  readonly process: TestProcess
  readonly door: Door
  arm?(fault: PendingFault): void
}

export interface ProcessesOptions<S extends Sources> {
  readonly given: Hookonce<S> | HooksFactory<S>
  readonly options: TestHooksOptions
  readonly database: string
  readonly schema: string
  readonly tables: LedgerTables
  readonly downstream: Downstream
  readonly faults: Faults
  readonly log: Journal
  readonly shiftMs: () => number
}

export function processes<S extends Sources>(kit: ProcessesOptions<S>): Processes<S> {
  const { given, options, tables, log } = kit
  const { pool } = tables
  const all: TestProcess[] = []
  const workers = new Map<TestProcess, readonly number[]>()
  let current: RunningProcess<S> | undefined
  let recovering: Promise<unknown> = Promise.resolve()
  let isClosed = false
  const closings: (() => Promise<void>)[] = []

  function running(): RunningProcess<S> {
    if (!current) throw new Error('the first process has not started')
    return current
  }

  async function start(): Promise<void> {
    const before = await livingWorkers(pool)
    const started = options.process ? await startReal(options.process) : await startHere()
    const after = await livingWorkers(pool)
    workers.set(
      started.process,
      after.filter((id) => !before.includes(id)),
    )
    await current?.door.close()
    current = started
  }

  async function startHere(): Promise<RunningProcess<S>> {
    const [proxy, appProxy] = [await startProxy(kit.database), await startProxy(kit.database)]
    const process = simulatedProcess({ proxy, appProxy, faults: kit.faults, onFault })
    all.push(process)
    const { hooks, app, close } = await appOn(appProxy.url)
    const seat = requireSeat(hooks)
    const checked = testOptions(seat.options, {
      schema: kit.schema,
      url: proxy.url,
      isFactory: typeof given === 'function',
      observers: [process.observer, log.observer(() => process.state !== 'dead')],
      moved: (source) => movedSource(source, kit.shiftMs),
    })
    const engine = seat.replace(checked, (handler) => hosted(handler, process))
    process.run(engine, close)
    if (options.start === false) await engine.open()
    else await engine.start()
    return { hooks, process, door: await openDoor(app ?? (hooks.node() as RequestListener), process) }
  }

  /** The hooks in this process sign deliveries and serve the test; they run no jobs. */
  async function startReal(real: NonNullable<TestHooksOptions['process']>): Promise<RunningProcess<S>> {
    const { hooks, close } = await appOn(kit.database)
    const { process, door, arm } = await startChild({
      settings: {
        module: String(real.module),
        export: real.export ?? 'default',
        database: kit.database,
        downstreamUrl: kit.downstream.url,
        schema: kit.schema,
        shiftMs: kit.shiftMs(),
        start: options.start !== false,
        faults: kit.faults.unreached,
      },
      execArgv: real.execArgv ?? [],
      log,
      shiftMs: kit.shiftMs,
      onHit(id, hit) {
        const fault = kit.faults.happened(id)
        if (fault) void carryOut(fault.kind, hit).then(() => fault.kind === 'loseLease' && hit.goOn())
      },
    })
    all.push(process)
    closings.push(async () => {
      await hooks.stop({ drainMs: 0 })
      await close?.()
    })
    return { hooks, process, door, arm }
  }

  async function appOn(url: string): Promise<TestApp<S> & { app: RequestListener | undefined }> {
    const made = typeof given === 'function' ? await given(url, { downstream: kit.downstream }) : given
    const app: TestApp<S> = 'hooks' in made ? made : { hooks: made }
    return { ...app, app: app.app ?? options.app }
  }

  async function takeOver(process: TestProcess): Promise<void> {
    // A freeze lasts longer than the idle limit of a transaction.
    if (process.state === 'frozen') await endIdleTransactions(pool)
    // A process that lost its lease has registered again: workers without another owner are its own.
    const others = new Set([...workers].flatMap(([owner, ids]) => (owner === process ? [] : ids)))
    const own = (await livingWorkers(pool)).filter((id) => !others.has(id))
    await endLeases(pool, own)
    await start()
    await rescue(tables, { observer: observers([log.observer(() => true)]), contactMs: 0 })
    running().process.wake()
  }

  async function onFault({ kind, point }: ArmedFault, process: SimulatedProcess): Promise<void> {
    // A run may begin before its delivery is answered. Without this wait, the loss of the reply
    // would depend on chance.
    if (point !== 'ack') await running().door.answered()
    await carryOut(kind, process)
  }

  async function carryOut(kind: FaultKind, process: TestProcess): Promise<void> {
    if (kind === 'crash') process.die()
    if (kind === 'freeze') process.freeze()
    const recovery = recovering.then(() => (isClosed ? undefined : takeOver(process)))
    recovering = recovery.catch((error: unknown) => log.fail(error))
    // A frozen or dead run waits for its own process, not for the next one.
    if (kind === 'loseLease') await recovering
  }

  return {
    get current() {
      return running()
    },
    all,
    start,
    carryOut,
    arm: (fault) => current?.arm?.(fault),
    async idle() {
      await recovering
      log.throwFailure()
    },
    async close() {
      isClosed = true
      await recovering
      await current?.door.close()
      await Promise.all(all.map((process) => process.close()))
      for (const close of closings) await close()
    },
  }
}
