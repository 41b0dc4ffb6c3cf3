import type { LaneSettlement } from '../ledger/outbox/lanes.ts'
import type { WaitingMessage } from '../ledger/outbox/messages.ts'
import { HookonceError } from '../model/errors.ts'
import type { MessageFact, Observer } from '../observe/observer.ts'
import { traceIdOf, wellFormedTraceparent } from '../observe/trace-context.ts'
import type { Message, Publish } from '../publishers/contract.ts'
import { Drain, type Interruption } from '../work/interruption.ts'
import { afterFailure, type RetryPolicy } from '../work/retry.ts'
import type { LaneWithMessages } from './lane-claimer.ts'

/** The first messages of a lane, to be published one after the other. */
export interface LaneRun extends LaneWithMessages {
  readonly publish: Publish
  readonly interruption: Interruption
}

export interface LaneRunDeps {
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  /**
   * Whether the next message may be published: the lease is held, and the process does not drain.
   */
  readonly mayGoOn: () => boolean
  /** False: the lease was lost. */
  readonly settle: (settlement: LaneSettlement) => Promise<boolean>
  readonly observer: Observer
}

type Fact = Omit<MessageFact, 'outcome'> & {
  readonly outcome: 'published' | 'retrying' | 'failed' | 'returned'
}

/** The progress of a run. */
interface Progress {
  readonly doneTo: number
  readonly failure?: string
  readonly left: LaneSettlement['left']
  readonly facts: readonly Fact[]
}

/**
 * Publishes the messages of a lane one after the other, and settles the lane. The first failure
 * ends the run: later messages of the lane wait until the failed message is published or has failed
 * for good. Never throws.
 */
export async function runLane(run: LaneRun, deps: LaneRunDeps): Promise<void> {
  const { doneTo, failure, left, facts } = await publishInOrder(run, deps)
  const { shard, lane, fence, attempt } = run.lane
  const first = run.messages[0]?.seq ?? 0
  const wasSettled = await deps.settle({ shard, lane, fence, doneTo, first, attempt, failure, left })
  for (const fact of facts) deps.observer.message(wasSettled ? fact : { ...fact, outcome: 'lost' })
}

async function publishInOrder(run: LaneRun, deps: LaneRunDeps): Promise<Progress> {
  const facts: Fact[] = []
  let doneTo = 0
  for (const [index, message] of run.messages.entries()) {
    // Only the first message of a lane counts attempts: any other message is tried only after it
    // has become the first.
    const attempt = index === 0 ? run.lane.attempt : 1
    if (!deps.mayGoOn()) return { doneTo, left: untouched(attempt), facts }
    const startedAt = performance.now()
    const ended = await publishOne(run, messageOf(message, attempt), deps.timeoutMs)
    const durationMs = performance.now() - startedAt
    const { id: messageId, topic, key, receiptId } = message
    const traceId = traceIdOf(wellFormedTraceparent(message.headers?.traceparent))
    const fact = { messageId, topic, key, receiptId, traceId, attempt, durationMs }
    if (ended.ok) {
      doneTo = message.seq
      facts.push({ ...fact, outcome: 'published' })
      continue
    }
    const { error } = ended
    if (run.interruption.reason instanceof Drain) {
      facts.push({ ...fact, outcome: 'returned' })
      return { doneTo, left: untouched(attempt), facts }
    }
    const next = afterFailure({ error, attempt, ageMs: message.ageMs + durationMs }, deps.retry)
    facts.push({ ...fact, outcome: next.state, error })
    if (next.state === 'failed')
      return { doneTo: message.seq, failure: next.reason, left: untouched(1), facts }
    return { doneTo, left: { attempt, delayMs: next.delayMs, reason: next.reason }, facts }
  }
  // Numbers at the end of the lane that have no message are done too.
  return { doneTo: run.isAll ? Math.max(doneTo, run.lane.tail) : doneTo, left: untouched(1), facts }
}

/** The next message was not tried, or its attempt does not count. */
function untouched(attempt: number): LaneSettlement['left'] {
  return { attempt: attempt - 1, delayMs: 0, reason: undefined }
}

type PublishResult = { readonly ok: true } | { readonly ok: false; readonly error: unknown }

async function publishOne(
  { publish, interruption }: LaneRun,
  message: Message,
  timeoutMs: number,
): Promise<PublishResult> {
  const timer = setTimeout(() => {
    const fault = `publishing a message of "${message.topic}" took longer than ${timeoutMs} ms`
    interruption.interrupt(new HookonceError('PUBLISH_TIMEOUT', fault))
  }, timeoutMs)
  try {
    // A publisher that ignores its signal continues, but no code waits for it. The message is
    // published again under the same id.
    await interruption.during(Promise.resolve(publish(message, { signal: interruption.signal })))
    return { ok: true }
  } catch (error) {
    return { ok: false, error }
  } finally {
    clearTimeout(timer)
  }
}

function messageOf(waiting: WaitingMessage, attempt: number): Message {
  const { id, topic, key, body, headers, tenant, receiptId, createdAt } = waiting
  return {
    id,
    topic,
    key: key ?? undefined,
    payload: JSON.parse(body),
    body,
    headers: headers ?? {},
    tenant,
    receiptId,
    createdAt,
    attempt,
  }
}
