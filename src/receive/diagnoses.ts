import type { ErrorCode } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'
import type { Delivery, NamedSource, Refusal, Source } from '../sources/contract.ts'
import { diagnose, isDiagnosed } from '../sources/diagnose/diagnose.ts'
import { kindOf, type RejectionLog } from './rejections.ts'

/**
 * Looks into refused deliveries beside the receiver: one after the other, a few at once and then so
 * many a second, whatever anyone sends. The sender has its answer by then, and learns nothing of
 * it.
 */
export interface Diagnoses {
  offer(name: string, source: Source, delivery: Delivery, refusal: Refusal): void
  /** Resolves when none is under way. */
  idle(): Promise<void>
}

// One takes some ten milliseconds at most: this is a few percent of a core under a flood, and
// enough for a person.
const EVERY_MS = 500
// Faults come together, as when several endpoints are set up at once: each is explained within a
// second.
const AT_ONCE = 8
// A source and reason that was just explained can wait: others come first.
const AGAIN_MS = 10_000
const AT_ONCE_OF_ONE = 6
// What is waited for holds the body: a stranger must not make us keep large ones.
const MAX_BODY_BYTES = 1024 * 1024
const MAX_WAITING_BYTES = 4 * MAX_BODY_BYTES

type Refused = Parameters<typeof diagnose>[0]

interface Waiting {
  readonly name: string
  readonly refused: Refused
}

export function diagnoses(
  others: readonly NamedSource[],
  rejections: RejectionLog,
  observer: Observer,
): Diagnoses {
  const mayExplain = allowance(AT_ONCE, EVERY_MS)
  /** As many as there are sources and reasons: both are configured, not sent. */
  const reasons = new Map<string, { readonly mayExplain: () => boolean; said: string }>()
  const waiting: Waiting[] = []
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      // After the answer, and with room for other deliveries in between.
      await new Promise((resolve) => setImmediate(resolve))
      await explain(next)
      waiting.shift()
    }
  }

  async function explain({ name, refused }: Waiting): Promise<void> {
    const { code } = refused.refusal
    try {
      const diagnosis = await diagnose(refused)
      if (diagnosis === undefined) return
      rejections.explain(name, code, diagnosis)
      const reason = reasonOf(name, code)
      // The same fault again is one line in the log.
      if (reason.said === kindOf(diagnosis)) return
      reason.said = kindOf(diagnosis)
      observer.diagnosis?.({ source: name, code, diagnosis })
    } catch (error) {
      observer.trouble({ doing: `looking into a refused delivery of ${name}`, error })
    }
  }

  function reasonOf(name: string, code: ErrorCode): { readonly mayExplain: () => boolean; said: string } {
    const key = `${name} ${code}`
    const known = reasons.get(key) ?? { mayExplain: allowance(AT_ONCE_OF_ONE, AGAIN_MS), said: '' }
    reasons.set(key, known)
    return known
  }

  return {
    offer(name, source, delivery, refusal) {
      const { body } = delivery
      if (!isDiagnosed(refusal.code) || body.length > MAX_BODY_BYTES) return
      const held = waiting.reduce((sum, { refused }) => sum + refused.delivery.body.length, 0)
      if (held + body.length > MAX_WAITING_BYTES) return
      if (!reasonOf(name, refusal.code).mayExplain() || !mayExplain()) return
      waiting.push({ name, refused: { source, others, delivery, refusal } })
      running ??= run().finally(() => {
        running = undefined
      })
    },
    async idle() {
      await running
    },
  }
}

/** So many at once, and one more after each interval. */
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
