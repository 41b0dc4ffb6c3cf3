import type { Engine } from '../engine/engine.ts'
import type { AttemptFact, CustomObserver } from '../observe/observer.ts'
import type { ArmedFault, CrashPoint, Faults, Host } from './faults.ts'
import type { DatabaseProxy } from './proxy.ts'

/** One process of a test, simulated or real. */
export interface TestProcess {
  readonly state: 'living' | 'frozen' | 'dead'
  die(): void
  freeze(): void
  thaw(): void
  /** The run at a fault may continue. */
  goOn(): void
  /** The clock of the test has moved. */
  timeMoved(): Promise<void>
  /** Makes its worker look for jobs. */
  wake(): void
  /** Stops the process, dead or alive, and ends its connections. */
  close(): Promise<void>
}

/** An engine and an app behind proxies, which can die and freeze. */
export interface SimulatedProcess extends TestProcess, Host {
  /** Observes the outcomes of its runs. */
  readonly observer: CustomObserver
  /** Resolves when it has died. */
  readonly died: Promise<void>
  /** Called once, with the engine and app that run in it. */
  run(engine: Engine | undefined, close?: () => unknown): void
}

export interface ProcessOptions {
  /** The connections of the engine. */
  readonly proxy: DatabaseProxy
  /** The connections that the user's code opens. */
  readonly appProxy: DatabaseProxy
  readonly faults: Faults
  /** Carries out a fault. Resolves when the run may continue. Never resolves after a crash. */
  readonly onFault: (fault: ArmedFault, process: SimulatedProcess) => Promise<void>
}

/** For a real process, which has its own connections. */
export const noProxy: DatabaseProxy = {
  url: '',
  die: () => undefined,
  freeze: () => undefined,
  thaw: () => undefined,
  close: () => undefined,
  abandon: () => undefined,
}

/** After this time, a dead engine that still waits at the end of a test is abandoned. */
const CLOSE_MS = 2_000

export function simulatedProcess({ proxy, appProxy, faults, onFault }: ProcessOptions): SimulatedProcess {
  let state: SimulatedProcess['state'] = 'living'
  let engine: Engine | undefined
  let closeApp: (() => unknown) | undefined
  let onThaw: (() => void)[] = []
  let onDeath: () => void = () => undefined
  const died = new Promise<void>((resolve) => {
    onDeath = resolve
  })
  const completing = new Set<string>()

  async function alive(): Promise<void> {
    while (state !== 'living') {
      // In a dead process this never resolves: the run ends here.
      await new Promise<void>((resolve) => {
        if (state === 'frozen') onThaw.push(resolve)
      })
    }
  }

  async function reach(point: CrashPoint): Promise<void> {
    await alive()
    const fault = faults.hit(point)
    if (fault) await onFault(fault, self)
    await alive()
  }

  const self: SimulatedProcess = {
    died,
    get state() {
      return state
    },
    observer: {
      attempt({ receiptId, outcome }: AttemptFact) {
        if (!completing.delete(receiptId)) return
        if (outcome === 'processed' || outcome === 'stale') void reach('commit')
      },
    },
    // The run continues when the promise of `onFault` resolves.
    goOn: () => undefined,
    wake: () => engine?.wake(),
    /** Jobs may be due, and known receipts may be past their retention. */
    async timeMoved() {
      if (!engine || state !== 'living') return
      const { acceptor } = await engine.open()
      acceptor.forgetDuplicates()
      engine.wake()
    },
    run(started, close) {
      engine = started
      closeApp = close
    },
    alive,
    reach,
    reachWithCompletion: (receiptId) => void completing.add(receiptId),
    die() {
      if (state === 'dead') return
      state = 'dead'
      proxy.die()
      appProxy.die()
      onDeath()
    },
    freeze() {
      if (state !== 'living') return
      state = 'frozen'
      proxy.freeze()
      appProxy.freeze()
    },
    thaw() {
      if (state !== 'frozen') return
      state = 'living'
      proxy.thaw()
      appProxy.thaw()
      const waiting = onThaw
      onThaw = []
      for (const resume of waiting) resume()
    },
    async close() {
      self.thaw()
      const closing = closeApp?.()
      const stopping = engine?.stop(0)
      if (state === 'living') await Promise.all([stopping, closing])
      else {
        // From now on, its engine gets errors. Its app never gets an answer, so no code waits for
        // it.
        proxy.close()
        await within(CLOSE_MS, Promise.allSettled([stopping]))
        void Promise.resolve(closing).catch(() => undefined)
        appProxy.abandon()
        return
      }
      proxy.close()
      appProxy.close()
    },
  }
  return self
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}
