import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { Deferred } from '../model/handler-errors.ts'
import type { AttemptFact, Observer } from '../observe/observer.ts'
import { contextOf } from './context.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import type { Run } from './run.ts'
import { type SettleDeps, type SettledRun, settleRun } from './settle/settle-run.ts'

/** Runs the handler of a job once and settles the job by the outcome. Never throws. */
export async function attempt(run: Run, deps: SettleDeps): Promise<void> {
  const startedAt = performance.now()
  const outcome = await runHandler(run, deps.observer)
  const durationMs = performance.now() - startedAt
  const settled = await settleRun({ run, outcome, durationMs }, deps)
  deps.onSettled?.(run, settled)
  deps.observer.attempt(factOf({ run, durationMs, settled }))
}

async function runHandler(run: Run, observer: Observer): Promise<Outcome> {
  const timeout = startTimeout(run)
  let event: Event | undefined
  try {
    event = resolveEvent(run)
    await callHandler(run, event)
    run.progress.operations.requireAwaited()
    if (run.lastStep !== undefined) await run.progress.handOver.dropRepeated()
    return outcomeOf(run, event)
  } catch (error) {
    await letOperationsEnd(run)
    return outcomeOf(run, event, { error })
  } finally {
    clearTimeout(timeout)
    close(run, observer)
  }
}

function startTimeout({ subscriber, interruption }: Run): NodeJS.Timeout {
  return setTimeout(() => {
    const fault = `the handler took longer than ${subscriber.timeoutMs} ms`
    interruption.interrupt(new HookonceError('HANDLER_TIMEOUT', fault))
  }, subscriber.timeoutMs)
}

function resolveEvent({ event, interruption }: Run): Event {
  if (interruption.reason) throw interruption.reason
  return event()
}

/**
 * Resolves when the handler has returned. Rejects when the run is interrupted. A handler that
 * ignores its signal continues, but no code waits for it, and the stale fence makes its writes
 * void.
 */
function callHandler(run: Run, event: Event): Promise<unknown> {
  return run.interruption.during(Promise.resolve(run.subscriber.handler(event, contextOf(run))))
}

/**
 * Waits for operations that the handler started: if they were cut off, their outcome would be
 * unknown. An interrupted run does not wait, and its reason is recorded.
 */
async function letOperationsEnd({ interruption, progress }: Run): Promise<void> {
  progress.hasHandlerEnded = true
  await interruption.during(progress.operations.idle()).catch(() => undefined)
}

/** From here on, actions of the handler have no effect on the job. */
function close({ subscriber, progress }: Run, observer: Observer): void {
  progress.isClosed = true
  progress.operations.close((operation, error) => {
    // The job is already settled, so a late failure can only be reported.
    const doing = `${operation} of subscriber "${subscriber.name}", whose handler had ended`
    observer.trouble({ doing, error })
  })
}

interface Finished {
  readonly run: Run
  readonly durationMs: number
  readonly settled: SettledRun
}

function factOf({ run, durationMs, settled }: Finished): AttemptFact {
  const { job, attempt, subscriber, ageMs } = run
  const { outcome } = settled
  return {
    source: subscriber.sourceName,
    subscriber: subscriber.name,
    receiptId: job.receiptId,
    eventKey: outcome.event?.key,
    eventType: outcome.event?.type,
    objectId: outcome.event?.objectId,
    attempt,
    outcome: observedOutcome(settled),
    durationMs,
    ageMs: ageMs + durationMs,
    ...(outcome.isSuccess ? {} : { error: outcome.error }),
  }
}

function observedOutcome({ outcome, settlement, commit }: SettledRun): AttemptFact['outcome'] {
  if (commit.kind !== 'committed') return 'lost'
  if (outcome.isSuccess) return outcome.staleReason === null ? 'processed' : 'stale'
  if (outcome.isSettled) return 'attention'
  if (!settlement.returnAttempt) return settlement.state === 'received' ? 'returned' : settlement.state
  return outcome.error instanceof Deferred ? 'deferred' : 'returned'
}
