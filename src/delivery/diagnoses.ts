import type { ErrorCode } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'
import type { Delivery, NamedSource, Refusal, Source } from '../sources/contract.ts'
import { diagnose, isDiagnosed } from '../sources/diagnose/diagnose.ts'

/**
 * Finds out why deliveries were refused. It runs after the answers were sent, so the sender gets no
 * diagnosis. One delivery is diagnosed at a time, and the number per second is limited under any
 * load.
 */
export interface Diagnoses {
  offer(name: string, source: Source, delivery: Delivery, refusal: Refusal): void
  /** Resolves when no diagnosis is in progress. */
  idle(): Promise<void>
}

/** Stores each diagnosis beside the rejections that it explains, for operators. */
export interface DiagnosisLog {
  explain(source: string, code: ErrorCode, diagnosis: string): void
}

// A diagnosis takes ten milliseconds at most. Under a flood this rate costs a few percent of a
// core, and it is enough for a person.
const EVERY_MS = 500
// A burst of this size is allowed: several endpoints are often misconfigured at the same time.
const AT_ONCE = 8
// A source and reason that was diagnosed recently waits, so that other reasons come first.
const AGAIN_MS = 10_000
const AT_ONCE_PER_REASON = 6
// Waiting deliveries hold their bodies in memory: strangers must not make hookonce hold large
// bodies.
const MAX_BODY_BYTES = 1024 * 1024
const MAX_WAITING_BYTES = 4 * MAX_BODY_BYTES

interface WaitingDelivery {
  readonly name: string
  readonly refused: Parameters<typeof diagnose>[0]
}

interface Reason {
  readonly mayExplain: () => boolean
  /** The last logged diagnosis, without its numbers. */
  lastKind: string
}

/** `sources`: their secrets are tried, to detect a delivery that was sent to the wrong URL. */
export function diagnoses(
  sources: readonly NamedSource[],
  log: DiagnosisLog,
  observer: Pick<Observer, 'diagnosis' | 'trouble'>,
): Diagnoses {
  const mayExplain = allowance(AT_ONCE, EVERY_MS)
  /** At most one per source and code: both come from the configuration, not from senders. */
  const reasons = new Map<string, Reason>()
  const waiting: WaitingDelivery[] = []
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      // Runs after the answer, and yields to other deliveries.
      await new Promise((resolve) => setImmediate(resolve))
      await explain(next)
      waiting.shift()
    }
  }

  async function explain({ name, refused }: WaitingDelivery): Promise<void> {
    const { code } = refused.refusal
    try {
      const diagnosis = await diagnose(refused)
      if (diagnosis === undefined) return
      log.explain(name, code, diagnosis)
      const reason = reasonOf(name, code)
      // A repeated fault is logged once.
      if (reason.lastKind === kindOf(diagnosis)) return
      reason.lastKind = kindOf(diagnosis)
      observer.diagnosis?.({ source: name, code, diagnosis })
    } catch (error) {
      observer.trouble({ doing: `diagnosing a refused delivery of ${name}`, error })
    }
  }

  function reasonOf(name: string, code: ErrorCode): Reason {
    const key = `${name} ${code}`
    const reason = reasons.get(key) ?? { mayExplain: allowance(AT_ONCE_PER_REASON, AGAIN_MS), lastKind: '' }
    reasons.set(key, reason)
    return reason
  }

  return {
    offer(name, source, delivery, refusal) {
      const { body } = delivery
      if (!isDiagnosed(refusal.code) || body.length > MAX_BODY_BYTES) return
      const waitingBytes = waiting.reduce((sum, { refused }) => sum + refused.delivery.body.length, 0)
      if (waitingBytes + body.length > MAX_WAITING_BYTES) return
      if (!reasonOf(name, refusal.code).mayExplain() || !mayExplain()) return
      waiting.push({ name, refused: { source, others: sources, delivery, refusal } })
      running ??= run().finally(() => {
        running = undefined
      })
    },
    async idle() {
      await running
    },
  }
}

/** A diagnosis without its numbers, which change from delivery to delivery. */
export function kindOf(diagnosis: string): string {
  return diagnosis.replace(/\d+/g, '#')
}

/** A token bucket: allows this many calls at once, and one more after each interval. */
function allowance(atOnce: number, everyMs: number): () => boolean {
  let left = atOnce
  let countedAt = performance.now()
  return () => {
    const now = performance.now()
    left = Math.min(atOnce, left + (now - countedAt) / everyMs)
    countedAt = now
    if (left < 1) return false
    left -= 1
    return true
  }
}
