import { setTimeout as delay } from 'node:timers/promises'
import { type Answer, unavailable } from '../delivery/answer.ts'
import type { Doors } from '../delivery/doors.ts'
import type { InlineHandler } from '../inline/inline.ts'
import { HookonceError } from '../model/errors.ts'
import { jsonLogger, logs } from '../observe/logs.ts'
import { mergeLedgers } from '../observe/merge-ledgers.ts'
import { observers } from '../observe/observer.ts'
import { type NewSubscription, type Subscription, subscription } from '../subscription.ts'
import { breaker } from '../work/breaker.ts'
import { TimeLimit } from '../work/within.ts'
import { createEngine, type Engine } from './engine.ts'
import type { InlineSourceOptions } from './inline-sources.ts'
import { operatorTables } from './operator-tables.ts'
import { placedDoors } from './placed-doors.ts'
import type { Station } from './station.ts'
import { isFault, type ManyOptions, stationsOf } from './stations.ts'

/*
 * Many ledgers behind the interface of one engine. Each ledger in use has an engine of its own
 * (stations.ts), so a ledger that is down or slow holds up only its own sources. A delivery finds
 * its engine by the name of its source.
 */

interface InlineRegistration {
  readonly source: string
  readonly handler: InlineHandler
  readonly options: InlineSourceOptions
  /** Undefined until the source has an engine. */
  doors: Doors | undefined
}

interface FleetResult<Result> {
  /** The result of the first engine that succeeded. */
  readonly first: Result
  readonly failed: readonly Station[]
  readonly asked: readonly Station[]
}

/** The delay before another attempt to reach a ledger that was down at start(). */
const TRY_AGAIN_MS = 1_000
/** A move of a tenant is noticed within this time. Its deliveries are refused meanwhile. */
const FOLLOW_MS = 1_000

export function createFleet(options: ManyOptions): Engine {
  const { traceContext } = observers(options.observers)
  const observer = observers([logs(options.logger ?? jsonLogger(), traceContext), ...options.observers])
  const checked: Subscription[] = []
  const subscriptions: NewSubscription[] = []
  const inlines: InlineRegistration[] = []
  const detached: Engine[] = []
  const stations = stationsOf({ options, subscriptions: checked, observer, onNew })
  const placing = breaker(() => true)
  const stopped = new AbortController()
  let following: Promise<void> | undefined
  let hasOpened = false
  let isWorking = false
  let starting: Promise<void> | undefined
  let registering: Promise<unknown> | undefined
  let stopping: Promise<void> | undefined
  let closing: Promise<void> | undefined
  const drain = new TimeLimit(Number.POSITIVE_INFINITY)

  function place(): Promise<void> {
    if (stopping) return Promise.reject(new HookonceError('LEDGER_DOWN', 'this process is stopping'))
    hasOpened = true
    following ??= follow()
    return stations.place()
  }

  /** Notices moved tenants, even in a process that gets none of their deliveries. */
  async function follow(): Promise<void> {
    const { signal } = stopped
    while (!signal.aborted) {
      await delay(FOLLOW_MS, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      try {
        await stations.refresh()
        if (stations.areIncomplete) await stations.place()
      } catch (error) {
        // The ledgers in use continue to work without the home ledger.
        if (!signal.aborted) observer.trouble({ doing: 'reading the places of the tenants', error })
      }
    }
  }

  function onNew(station: Station, sources: ReadonlySet<string>): void {
    for (const given of subscriptions) if (sources.has(given.source)) station.engine.subscribe(given)
    for (const given of inlines)
      if (sources.has(given.source))
        given.doors = station.engine.inline(given.source, given.handler, given.options)
    if (isWorking || stations.replacesOthers(station)) void openPersistently(station)
  }

  /** One engine refuses all sources that are not configured. */
  async function engineOf(source: string): Promise<Engine> {
    if (!stations.engineOf(source)) await place()
    const engine = stations.engineOf(source)
    if (engine) return engine
    const [first] = stations.all
    if (first && !Object.hasOwn(options.sources, source)) return first.engine
    const tenant = options.sources[source]?.tenant
    const why = `tenant "${tenant}" is being moved, or it cannot be placed while ${stations.home} or a ledger of \`also\` is down`
    throw new HookonceError('LEDGER_DOWN', why)
  }

  /**
   * Runs `work` with all engines in parallel. One success is enough, unless another engine failed
   * with an error that a retry cannot fix.
   */
  async function withEach<Result>(act: (engine: Engine) => Promise<Result>): Promise<FleetResult<Result>> {
    await place()
    const all = [...stations.all]
    const results = await Promise.allSettled(all.map(({ engine }) => act(engine)))
    const failures = results.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
    const done = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const fault = failures.find(isFault)
    if (fault !== undefined || done.length === 0) throw fault ?? failures[0]
    const failed = all.filter((_, at) => results[at]?.status === 'rejected')
    return { first: done[0] as Result, failed, asked: all }
  }

  /**
   * Opens the engines once, so that the ledgers know the subscribers of this process: a replay
   * gives them jobs. One ledger that can be opened is enough.
   */
  async function register(): Promise<void> {
    registering ??= withEach((engine) => engine.open()).catch((error: unknown) => {
      registering = undefined
      throw error
    })
    await registering
  }

  // --- work

  async function startAll(): Promise<void> {
    const { failed, asked } = await withEach((engine) => engine.start())
    isWorking = true
    const missed = stations.all.filter((station) => !asked.includes(station))
    for (const station of [...failed, ...missed]) void openPersistently(station)
  }

  /** Tries until it succeeds, the engine is replaced, or the fleet stops. */
  async function openPersistently(station: Station): Promise<void> {
    const { ledger, engine } = station
    const { signal } = stopped
    const isOver = (): boolean => signal.aborted || !stations.all.includes(station)
    while (!isOver()) {
      await delay(TRY_AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined)
      if (isOver()) return
      try {
        await (isWorking ? engine.start() : engine.open())
        if (!isOver()) stations.takeOver(station)
        return
      } catch (error) {
        const doing = `${isWorking ? 'starting to work on' : 'opening'} the ledger ${ledger}`
        if (!isOver()) observer.trouble({ doing, error })
      }
    }
  }

  /** Resolves when no engine is added or replaced any more. */
  async function settled(): Promise<void> {
    stopped.abort()
    await starting?.catch(() => undefined)
    await following
    await stations.settled()
  }

  async function stop(drainMs: number): Promise<void> {
    drain.shorten(drainMs)
    stopping ??= settled()
    await stopping
    const engines = [...stations.all.map(({ engine }) => engine), ...detached, stations.retired]
    await Promise.all(engines.map((one) => one.stop(drain.leftMs)))
    closing ??= stations.directory.close()
    await closing
  }

  return {
    subscribe(given) {
      if (hasOpened) {
        const fault = 'register every handler before the first delivery and before start()'
        throw new HookonceError('CONFIG_INVALID', fault)
      }
      checked.push(subscription(options, checked, given))
      subscriptions.push(given)
    },
    inline(source, handler, given) {
      // Checks the arguments. A source with its own key store needs neither a ledger nor a place.
      const alone = createEngine({ ...options, ledgers: undefined })
      const doors = alone.inline(source, handler, given)
      const one = { source, handler, options: given, doors: given.store ? doors : undefined }
      inlines.push(one)
      if (!given.store) return placedDoors(() => doorsOf(one), answerUnopened)
      detached.push(alone)
      stations.detach(source, alone)
      return doors
    },
    open: async (source) =>
      source === undefined
        ? (await withEach((engine) => engine.open())).first
        : (await engineOf(source)).open(),
    openForDelivery(source) {
      const engine = stations.engineOf(source)
      if (engine) return engine.openForDelivery(source)
      return placing.attempt(() => engineOf(source)).then((found) => found.openForDelivery(source))
    },
    answerUnopened,
    async ledger(source) {
      if (source !== undefined) return (await (await engineOf(source)).open()).ledger
      await withEach((engine) => engine.open())
      return stations.directory.open(stations.home)
    },
    async ledgers() {
      await register()
      return stations.directory.set((ledger) => ledger)
    },
    async operators() {
      await register()
      return stations.directory.set(operatorTables)
    },
    start() {
      if (stopping) {
        const fault = 'this hookonce was stopped and cannot start again: create another one'
        return Promise.reject(new HookonceError('CONFIG_INVALID', fault))
      }
      starting ??= startAll().catch((error) => {
        starting = undefined
        throw error
      })
      return starting
    },
    wake() {
      for (const { engine } of stations.all) engine.wake()
    },
    stop,
    async isReady() {
      await place().catch((error) => observer.trouble({ doing: 'finding the ledgers of the tenants', error }))
      return isAny(stations.all.map(({ engine }) => engine.isReady()))
    },
    async snapshot() {
      const snapshots = stations.all.map(async ({ ledger, engine }) => ({
        ledger,
        snapshot: await engine.snapshot(),
      }))
      return mergeLedgers([...(await Promise.all(snapshots)), ...(await stations.retired.snapshots())])
    },
  }

  async function doorsOf(one: InlineRegistration): Promise<Doors> {
    await engineOf(one.source)
    if (!one.doors) throw new Error(`the source ${one.source} has an engine, but no receiver`)
    return one.doors
  }

  function answerUnopened(error: unknown): Answer {
    const [first] = stations.all
    if (first) return first.engine.answerUnopened(error)
    if (!(error instanceof HookonceError && error.code === 'LEDGER_DOWN'))
      observer.trouble({ doing: 'finding the ledger of a delivery', error })
    return unavailable(options.limits.retryAfterSeconds)
  }
}

/** Resolves as soon as one result is true, so that a slow ledger does not delay the answer. */
function isAny(questions: readonly Promise<boolean>[]): Promise<boolean> {
  return new Promise((resolve) => {
    for (const question of questions) void question.then((is) => is && resolve(true))
    void Promise.all(questions).then(() => resolve(false))
  })
}
