import type { Pool } from 'pg'
import {
  type CircuitChange,
  claimProbe,
  dueProbe,
  failProbe,
  openCircuit,
  type Probe,
  type ProbePlace,
  passProbe,
  readCircuits,
  releaseProbe,
} from '../ledger/jobs/circuits.ts'
import type { ClaimedJob } from '../ledger/jobs/claim.ts'
import { giveBackTokens, takeTokens } from '../ledger/jobs/limiters.ts'
import type { Vault } from '../ledger/vault/vault.ts'
import { TOGETHER_FROM } from '../model/suspects.ts'
import { loggedTextOfThrown } from '../model/thrown.ts'
import type { CircuitFact, Observer } from '../observe/observer.ts'
import { persistently } from '../work/persistently.ts'
import type { Slots } from '../work/slots.ts'
import type { Circuit } from './circuit.ts'
import { type Health, healthOf } from './health.ts'
import { openPayloads } from './open-payloads.ts'
import type { Run } from './run.ts'
import type { SettledRun } from './settle/settle-run.ts'
import type { Limiter, Subscriber } from './subscriber.ts'

/**
 * The circuits of this process's subscribers. Opens a circuit when too many runs fail, and claims
 * probes of open circuits. ledger/jobs/circuits.ts has the states.
 */
export interface Circuits {
  /** Reads the circuits, and starts the due probes. Returns the number of probes. */
  claim(): Promise<number>
  /** Whether a claimed job may start: its circuit is closed, or it is the probe. */
  mayStart(job: ClaimedJob): boolean
  /** Records the end of a run. */
  ended(run: Run, settled: SettledRun): void
  lookAnew(): void
  /** Resolves when no change is being written to the ledger. */
  idle(): Promise<void>
}

export interface CircuitsOptions {
  readonly pool: Pool
  readonly vault: Vault
  readonly shards: number
  readonly subscribers: ReadonlyMap<number, Subscriber>
  readonly slots: Slots<number>
  readonly pollMs: number
  readonly observer: Observer
  /** Stops retrying: the ledger is down and the process is stopping. */
  readonly signal: AbortSignal
  /** The id of the worker to lease to. Undefined while nothing may be started. */
  readonly worker: () => number | undefined
  readonly start: (job: ClaimedJob, worker: number) => Promise<void>
  /** Called when held jobs may be claimed, or a probe is due. */
  readonly onChange: () => void
}

interface Known {
  readonly limiter: Limiter
  readonly circuit: Circuit
  readonly subscribers: Subscriber[]
  isOpening: boolean
}

/** The time to commit an outcome, added to the timeout of a probe's handler. */
const SETTLING_MS = 10_000
/** Cuts a reason to a readable length. */
const MAX_REASON_CHARS = 300

export function circuits(options: CircuitsOptions): Circuits {
  const { pool, shards, slots, observer, signal } = options
  const known = knownCircuits([...options.subscribers.values()])
  const ids = [...known.keys()]
  /** Probes that run here, by receipt and subscriber. */
  const probing = new Map<string, Probe>()
  const changing = new Set<Promise<void>>()
  let lookAt = 0
  /** The number of changes that this process has made. */
  let changes = 0

  function lookAnew(): void {
    lookAt = 0
  }

  async function claim(): Promise<number> {
    if (ids.length === 0 || performance.now() < lookAt) return 0
    lookAt = performance.now() + options.pollMs
    let count = 0
    const changesBefore = changes
    for (const { id, isProbeDue, ...state } of await readCircuits(pool, ids)) {
      const one = known.get(id)
      if (!one) continue
      // This process changed the circuit after the read, so its own state is newer.
      if (changes !== changesBefore) {
        lookAnew()
        break
      }
      const wasClosed = one.circuit.isClosed
      one.circuit.learn(state)
      if (!wasClosed && one.circuit.isClosed) options.onChange()
      if (isProbeDue) count += await startProbe(one)
    }
    return count
  }

  async function startProbe(one: Known): Promise<number> {
    const subscribers = one.subscribers.map(({ id }) => id)
    const place = await dueProbe(pool, { shards, limiter: one.limiter.id, subscribers })
    const worker = options.worker()
    if (!place || worker === undefined || !slots.take(place.subscriber)) return 0
    const probe = await claimWithToken(one, place, worker).catch((error: unknown) => {
      slots.giveBack(place.subscriber, 1)
      throw error
    })
    if (!probe) {
      slots.giveBack(place.subscriber, 1)
      return 0
    }
    const [job = probe.job] = await openPayloads(options.vault, [probe.job])
    changed(one, { state: 'half-open', generation: probe.generation, failedProbes: probe.failedProbes })
    const key = keyOf(probe.job)
    probing.set(key, probe)
    void options.start(job, worker).finally(() => {
      // The probe was handed back, or never started.
      if (probing.delete(key)) record(() => endProbe(one, () => releaseProbe(pool, ended(one, probe))))
    })
    return 1
  }

  /** A probe is a run like any other, so it needs a token of the rate. */
  async function claimWithToken(
    { limiter: { id, rate } }: Known,
    place: ProbePlace,
    worker: number,
  ): Promise<Probe | undefined> {
    if (rate && (await takeTokens(pool, id, 1)).granted === 0) return undefined
    const timeoutMs = options.subscribers.get(place.subscriber)?.timeoutMs ?? 0
    const probe = await claimProbe(pool, { ...place, limiter: id, worker, withinMs: timeoutMs + SETTLING_MS })
    if (rate && !probe) await giveBackTokens(pool, id, 1)
    return probe
  }

  function changed({ limiter, circuit, subscribers }: Known, change: CircuitChange, reason?: string): void {
    const wasClosed = circuit.isClosed
    changes += 1
    circuit.learn(change)
    observer.circuit?.({
      limiter: limiter.name,
      subscribers: subscribers.map(({ sourceName: source, name: subscriber }) => ({ source, subscriber })),
      state: change.state,
      wasClosed,
      ...(reason === undefined ? {} : { reason }),
    } satisfies CircuitFact)
  }

  function onEnded(run: Run, settled: SettledRun): void {
    const one = run.subscriber.limiter && known.get(run.subscriber.limiter.id)
    if (!one) return
    const health = healthOf(run, settled)
    const reason = settled.outcome.isSuccess ? '' : reasonOf(settled.outcome.error)
    const key = keyOf(run.job)
    const probe = probing.get(key)
    if (probe) {
      probing.delete(key)
      return record(() => settleProbe(one, probe, health, reason))
    }
    if (health === 'unclear' || run.circuitGeneration !== one.circuit.generation) return
    if (one.circuit.sample(key, health === 'down') && !one.isOpening) record(() => open(one, reason))
  }

  async function open(one: Known, reason: string): Promise<void> {
    const { limiter, circuit } = one
    one.isOpening = true
    try {
      const { generation, options: terms } = circuit
      const trip = { limiter: limiter.id, generation, reason, openMs: terms.openMs }
      const change = await openCircuit(pool, trip)
      if (change) changed(one, change, reason)
      else lookAnew()
    } catch (error) {
      // The next failure tries again to open the circuit.
      observer.trouble({ doing: 'opening a circuit', error })
    } finally {
      one.isOpening = false
    }
  }

  async function settleProbe(one: Known, probe: Probe, health: Health, reason: string): Promise<void> {
    const { probes, openMs, maxOpenMs } = one.circuit.options
    const of = ended(one, probe)
    if (health === 'up') return endProbe(one, () => passProbe(pool, of, probes))
    if (health === 'down')
      return endProbe(one, () => failProbe(pool, { ...of, reason, openMs, maxOpenMs }), reason)
    return endProbe(one, () => releaseProbe(pool, of))
  }

  /**
   * If the probe is no longer valid, the change is refused, and the next read updates the state.
   */
  async function endProbe(
    one: Known,
    end: () => Promise<CircuitChange | undefined>,
    reason?: string,
  ): Promise<void> {
    const change = await persistently(end, { doing: 'recording the outcome of a probe', observer, signal })
    if (change) changed(one, change, reason)
    lookAnew()
    options.onChange()
  }

  function record(work: () => Promise<void>): void {
    const done = work().finally(() => changing.delete(done))
    changing.add(done)
  }

  return {
    claim,
    mayStart(job) {
      const limiter = options.subscribers.get(job.subscriber)?.limiter
      if (limiter?.circuit?.isClosed !== false || probing.has(keyOf(job)) || isSuspect(job)) return true
      // Either the circuit opened after this claim, or it has closed and this process has not read
      // that yet.
      lookAnew()
      return false
    },
    ended: onEnded,
    lookAnew,
    async idle() {
      await Promise.all(changing)
    },
  }
}

function knownCircuits(subscribers: readonly Subscriber[]): Map<number, Known> {
  const known = new Map<number, Known>()
  for (const subscriber of subscribers) {
    const { limiter } = subscriber
    if (!limiter?.circuit) continue
    const one = known.get(limiter.id)
    if (one) one.subscribers.push(subscriber)
    else
      known.set(limiter.id, {
        limiter,
        circuit: limiter.circuit,
        subscribers: [subscriber],
        isOpening: false,
      })
  }
  return known
}

function ended({ limiter }: Known, { generation }: Probe): { limiter: number; generation: number } {
  return { limiter: limiter.id, generation }
}

function keyOf({ receiptId, subscriber }: { receiptId: string; subscriber: number }): string {
  return `${receiptId}/${subscriber}`
}

/** Suspects ignore circuits: they are few, and are claimed separately. */
function isSuspect({ crashes }: ClaimedJob): boolean {
  return crashes >= TOGETHER_FROM
}

function reasonOf(error: unknown): string {
  // The reason for logs. Omits the response of a destination.
  const text = loggedTextOfThrown(error).replace(/^HookonceError: /, '')
  return text.slice(0, MAX_REASON_CHARS)
}
