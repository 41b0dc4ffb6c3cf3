import type { Pool } from 'pg'
import type { WriteOutcome } from '../effects/commit-writes.ts'
import type { Outbox } from '../effects/message.ts'
import type { JobRef, Settlement } from '../ledger/jobs.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import type { AttemptFact, Observer } from '../observe/observer.ts'
import { Draining, type Interruption } from '../work/interruption.ts'
import { afterFailure } from '../work/retry.ts'
import { type Gathered, openContext } from './context.ts'
import type { Ending } from './settler.ts'
import type { Subscriber } from './subscriber.ts'

/** One run of a job, under its worker's lease and its own fence. */
export interface Run {
  readonly job: JobRef
  readonly attempt: number
  /** The job's age when the run began. */
  readonly ageMs: number
  readonly subscriber: Subscriber
  /** The step whose commit completed an earlier run of this job. */
  readonly lastStep: string | undefined
  /** Reads the event; throws where the recorded bytes cannot be read any more. */
  readonly event: () => Event
  readonly interruption: Interruption
}

export interface AttemptDeps {
  readonly business: Pool
  readonly outbox: Outbox
  readonly settle: (ending: Ending) => Promise<WriteOutcome>
  readonly observer: Observer
}

type Ended = { readonly event: Event | undefined } & (
  | ({ readonly ok: true } & Gathered)
  | { readonly ok: false; readonly error: unknown }
)

/** Runs the handler once and settles the job by what came of it. Never throws. */
export async function attempt(run: Run, deps: AttemptDeps): Promise<void> {
  const startedAt = performance.now()
  let ended = await perform(run, deps)
  const durationMs = performance.now() - startedAt
  let settlement = settlementOf(run, ended, durationMs)
  let outcome = await settle({ ended, settlement }, deps)
  if (outcome.kind === 'refused') {
    // The handler was content, the database was not with what it wrote: that is a failed attempt like another.
    ended = { ok: false, event: ended.event, error: outcome.error }
    settlement = settlementOf(run, ended, durationMs)
    outcome = await settle({ ended, settlement }, deps)
  }
  deps.observer.attempt(factOf({ run, ended, settlement, took: outcome.kind === 'committed', durationMs }))
}

interface Settling {
  readonly ended: Ended
  readonly settlement: Settlement
}

async function settle({ ended, settlement }: Settling, deps: AttemptDeps): Promise<WriteOutcome> {
  if (ended.ok && ended.completed) return { kind: 'committed' }
  const { writes, messages } = ended.ok ? ended : NOTHING
  const outcome = await deps.settle({ settlement, writes, messages })
  if (outcome.kind === 'committed' && messages.length > 0) deps.outbox.committed()
  return outcome
}

const NOTHING = { writes: [], messages: [] }

async function perform(run: Run, deps: AttemptDeps): Promise<Ended> {
  const { subscriber, interruption } = run
  const timer = setTimeout(() => {
    const fault = `the handler ran past ${subscriber.timeoutMs} ms`
    interruption.interrupt(new HookonceError('HANDLER_TIMEOUT', fault))
  }, subscriber.timeoutMs)
  let event: Event | undefined
  const context = openContext(run, deps)
  try {
    if (interruption.reason) throw interruption.reason
    event = run.event()
    // A handler that ignores its signal goes on, but nobody waits for it: its fence is what keeps it harmless.
    await Promise.race([subscriber.handler(event, context.ctx), interruption.interrupted])
    return { ok: true, event, ...context.close() }
  } catch (error) {
    // A commit that completed the job stands, whatever the handler did after it.
    const { completed } = context.close()
    return completed ? { ok: true, event, ...NOTHING, completed } : { ok: false, event, error }
  } finally {
    clearTimeout(timer)
  }
}

function settlementOf(run: Run, ended: Ended, durationMs: number): Settlement {
  const { job, attempt } = run
  if (ended.ok) return { ...job, state: 'processed', delayMs: 0, returnAttempt: false, reason: undefined }
  if (run.interruption.reason instanceof Draining) return handedBack(job, attempt)
  const verdict = afterFailure(
    { error: ended.error, attempt, ageMs: run.ageMs + durationMs },
    run.subscriber.retry,
  )
  return {
    ...job,
    state: verdict.state,
    delayMs: verdict.state === 'retrying' ? verdict.delayMs : 0,
    returnAttempt: false,
    reason: verdict.reason,
  }
}

/** Gives a job back unharmed: the attempt is returned, and the next worker may start at once. */
export function handedBack(job: JobRef, attempt: number): Settlement {
  const state = attempt > 1 ? 'retrying' : 'received'
  return { ...job, state, delayMs: 0, returnAttempt: true, reason: undefined }
}

interface Told {
  readonly run: Run
  readonly ended: Ended
  readonly settlement: Settlement
  readonly took: boolean
  readonly durationMs: number
}

function factOf({ run, ended, settlement, took, durationMs }: Told): AttemptFact {
  const { job, attempt, subscriber } = run
  const outcome = settlement.state === 'received' || settlement.returnAttempt ? 'returned' : settlement.state
  return {
    source: subscriber.sourceName,
    subscriber: subscriber.name,
    receiptId: job.receiptId,
    eventKey: ended.event?.key,
    eventType: ended.event?.type,
    objectId: ended.event?.objectId,
    attempt,
    outcome: took ? outcome : 'lost',
    durationMs,
    ...(ended.ok ? {} : { error: ended.error }),
  }
}
