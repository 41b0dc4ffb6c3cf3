import type { JobRef } from '../ledger/jobs/job-ref.ts'
import type { Settlement } from '../ledger/jobs/settle.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { Deferred } from '../model/handler-errors.ts'
import type { AttemptFact, Observer } from '../observe/observer.ts'
import { Draining, type Interruption } from '../work/interruption.ts'
import { persistently } from '../work/persistently.ts'
import { afterFailure } from '../work/retry.ts'
import { type Business, type Gathered, openContext } from './context.ts'
import type { WriteOutcome } from './settle/commit-writes.ts'
import { stopAtOpenCall } from './settle/open-calls.ts'
import type { Ending } from './settle/settler.ts'
import type { Subscriber } from './subscriber.ts'

/** One run of a job, under its worker's lease and its own fence. */
export interface Run {
  readonly job: JobRef
  readonly attempt: number
  /** The job's age when the run began. */
  readonly ageMs: number
  readonly subscriber: Subscriber
  /** Raised by a replay that asks for everything to happen anew. */
  readonly epoch: number
  /** No earlier run of this job can have recorded anything. */
  readonly isFirst: boolean
  /** Whether the lease still holds, by the clock of this process. */
  readonly isHeld: () => boolean
  /** The step whose commit completed an earlier run of this job. */
  readonly lastStep: string | undefined
  /** Of an ordered subscriber: who is next waits for the end of this run. */
  readonly lane?: string | undefined
  /** Reads the event; throws where the recorded bytes cannot be read any more. */
  readonly event: () => Event
  readonly interruption: Interruption
}

export interface AttemptDeps {
  readonly business: Business
  readonly settle: (ending: Ending) => Promise<WriteOutcome>
  readonly observer: Observer
  /** Gives up trying: the ledger is down and the process wants to end. */
  readonly signal: AbortSignal
}

type Ended = { readonly event: Event | undefined } & (
  | {
      readonly ok: true
      readonly writes: Gathered['writes']
      readonly messages: Gathered['messages']
      readonly settled: boolean
      /** Why nothing came of it. */
      readonly stale: string | null
    }
  | {
      readonly ok: false
      readonly error: unknown
      readonly settled: boolean
      readonly hasEffects: boolean
    }
)

/** Runs the handler once and settles the job by what came of it. Never throws. */
export async function attempt(run: Run, deps: AttemptDeps): Promise<void> {
  const startedAt = performance.now()
  const ended = await perform(run, deps)
  const durationMs = performance.now() - startedAt
  let concluded = await conclude({ run, ended, durationMs }, deps)
  if (concluded.outcome.kind === 'refused') {
    // The handler was content, the database was not with what it wrote: that is a failed attempt
    // like another.
    const { error } = concluded.outcome
    const refused = { ok: false, event: ended.event, error, settled: false, hasEffects: true } as const
    concluded = await conclude({ run, ended: refused, durationMs }, deps)
  }
  deps.observer.attempt(factOf({ run, ...concluded, durationMs }))
}

interface Concluding {
  readonly run: Run
  readonly ended: Ended
  readonly durationMs: number
}

interface Settling {
  readonly ended: Ended
  readonly settlement: Settlement
}

interface Concluded extends Settling {
  readonly outcome: WriteOutcome
}

async function conclude({ run, ended, durationMs }: Concluding, deps: AttemptDeps): Promise<Concluded> {
  const settlement = settlementOf(run, ended, durationMs)
  const stopped = settlement.state === 'failed' ? await stopForPerson(run, ended, deps) : ended
  // The ledger could not be asked: the lease runs out, and the job is tried again.
  if (!stopped) return { ended, settlement, outcome: { kind: 'lost' } }
  return { ended: stopped, settlement, outcome: await settle({ ended: stopped, settlement }, deps) }
}

/**
 * A job is not given up while nobody knows what became of its calls. Undefined: the ledger could
 * not be asked.
 */
async function stopForPerson(
  { job, isFirst }: Run,
  ended: Ended,
  { business, observer, signal }: AttemptDeps,
): Promise<Ended | undefined> {
  if (ended.ok || ended.settled || (isFirst && !ended.hasEffects)) return ended
  const { pool, shards } = business
  const doing = 'looking for open calls of a job that is given up'
  const asked = await persistently(async () => ({ error: await stopAtOpenCall({ pool, shards, job }) }), {
    doing,
    observer,
    signal,
  })
  if (!asked) return undefined
  return asked.error ? { ...ended, error: asked.error, settled: true } : ended
}

async function settle({ ended, settlement }: Settling, deps: AttemptDeps): Promise<WriteOutcome> {
  if (ended.settled) return { kind: 'committed' }
  const { writes, messages } = ended.ok ? ended : NOTHING
  const outcome = await deps.settle({ settlement, writes, messages })
  if (outcome.kind === 'committed' && messages.length > 0) deps.business.outbox.committed()
  return outcome
}

const NOTHING = { writes: [], messages: [] }

async function perform(run: Run, { business, observer }: AttemptDeps): Promise<Ended> {
  const { subscriber, interruption } = run
  const timer = setTimeout(() => {
    const fault = `the handler ran past ${subscriber.timeoutMs} ms`
    interruption.interrupt(new HookonceError('HANDLER_TIMEOUT', fault))
  }, subscriber.timeoutMs)
  let event: Event | undefined
  const context = openContext(run, business)
  try {
    if (interruption.reason) throw interruption.reason
    event = run.event()
    // A handler that ignores its signal goes on, but nobody waits for it: its fence is what keeps
    // it harmless.
    await interruption.during(Promise.resolve(subscriber.handler(event, context.ctx)))
    context.requireAwaited()
    if (run.lastStep !== undefined) await context.dropRepeated()
    return endedOf(event, context.close(late))
  } catch (error) {
    // Interrupted: then nobody waits for the rest either, and the run knows the reason.
    await interruption.during(context.rest()).catch(() => undefined)
    return endedOf(event, context.close(late), { error })
  } finally {
    clearTimeout(timer)
  }

  /** The job is settled by then: all that is left is to say so. */
  function late(what: string, error: unknown): void {
    observer.trouble({ doing: `${what} of subscriber "${subscriber.name}", whose handler had ended`, error })
  }
}

/**
 * A commit of the handler's own stands, whatever the handler did after it; so does a reason to
 * stop.
 */
function endedOf(event: Event | undefined, gathered: Gathered, thrown?: { error: unknown }): Ended {
  const { writes, messages, settled, stopped, stale, hasEffects } = gathered
  if (settled === 'processed') return { ok: true, event, ...NOTHING, settled: true, stale }
  if (stopped) return { ok: false, event, error: stopped, settled: settled === 'attention', hasEffects }
  if (thrown) return { ok: false, event, ...thrown, settled: false, hasEffects }
  return { ok: true, event, writes, messages, settled: false, stale }
}

function settlementOf(run: Run, ended: Ended, durationMs: number): Settlement {
  const { job, attempt } = run
  if (ended.ok) {
    // Field by field: spreading the job costs as much as all the rest.
    const { shard, receiptId, subscriber, fence } = job
    const reason = ended.stale ?? undefined
    return {
      shard,
      receiptId,
      subscriber,
      fence,
      state: 'processed',
      delayMs: 0,
      returnAttempt: false,
      reason,
    }
  }
  if (run.interruption.reason instanceof Draining) return handedBack(job, attempt)
  const verdict = afterFailure(
    { error: ended.error, attempt, ageMs: run.ageMs + durationMs },
    run.subscriber.retry,
  )
  return {
    ...job,
    state: verdict.state,
    delayMs: verdict.state === 'retrying' ? verdict.delayMs : 0,
    returnAttempt: verdict.state === 'retrying' && !verdict.counts,
    reason: verdict.reason,
  }
}

/** Gives a job back unharmed: the attempt is returned, and the next worker may start at once. */
export function handedBack(job: JobRef, attempt: number): Settlement {
  const state = attempt > 1 ? 'retrying' : 'received'
  return { ...job, state, delayMs: 0, returnAttempt: true, reason: undefined }
}

function factOf({ run, ended, settlement, outcome, durationMs }: Concluding & Concluded): AttemptFact {
  const { job, attempt, subscriber } = run
  return {
    source: subscriber.sourceName,
    subscriber: subscriber.name,
    receiptId: job.receiptId,
    eventKey: ended.event?.key,
    eventType: ended.event?.type,
    objectId: ended.event?.objectId,
    attempt,
    outcome: outcome.kind === 'committed' ? outcomeOf(ended, settlement) : 'lost',
    durationMs,
    ...(ended.ok ? {} : { error: ended.error }),
  }
}

function outcomeOf(ended: Ended, settlement: Settlement): AttemptFact['outcome'] {
  if (ended.ok) return ended.stale === null ? 'processed' : 'stale'
  if (ended.settled) return 'attention'
  if (!settlement.returnAttempt) return settlement.state === 'received' ? 'returned' : settlement.state
  return ended.error instanceof Deferred ? 'deferred' : 'returned'
}
