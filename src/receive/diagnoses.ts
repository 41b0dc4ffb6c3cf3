import type { ErrorCode } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'
import type { Delivery, Refusal, Source } from '../sources/contract.ts'
import { diagnose, isDiagnosed, type NamedSource } from '../sources/diagnose/diagnose.ts'
import type { RejectionLog } from './rejections.ts'

/**
 * Looks into refused deliveries beside the receiver: one at a time, so many a second, whatever anyone sends. The
 * sender has its answer by then, and learns nothing of it.
 */
export interface Diagnoses {
  offer(name: string, source: Source, delivery: Delivery, refusal: Refusal): void
  /** Resolves when none is under way. */
  idle(): Promise<void>
}

// One takes some ten milliseconds at most: this is a few percent of a core under a flood, and enough for a person.
const EVERY_MS = 500
// A source and reason that was just explained can wait: others come first.
const AGAIN_MS = 10_000
// What is waited for holds the body: a stranger must not make us keep large ones.
const MAX_BODY_BYTES = 1024 * 1024

export function diagnoses(
  others: readonly NamedSource[],
  rejections: RejectionLog,
  observer: Observer,
): Diagnoses {
  let nextAt = 0
  let running: Promise<void> | undefined
  /** As many as there are sources and reasons: both are configured, not sent. */
  const explained = new Map<string, number>()

  async function run(name: string, refused: Parameters<typeof diagnose>[0]): Promise<void> {
    // After the answer.
    await new Promise((resolve) => setImmediate(resolve))
    const { code } = refused.refusal
    try {
      const diagnosis = await diagnose(refused)
      if (diagnosis === undefined) return
      rejections.explain(name, code, diagnosis)
      observer.diagnosis?.({ source: name, code, diagnosis })
    } catch (error) {
      observer.trouble({ doing: `looking into a refused delivery of ${name}`, error })
    }
  }

  function isDue(name: string, code: ErrorCode): boolean {
    const now = performance.now()
    const key = `${name} ${code}`
    if (running || now < nextAt || now < (explained.get(key) ?? 0)) return false
    nextAt = now + EVERY_MS
    explained.set(key, now + AGAIN_MS)
    return true
  }

  return {
    offer(name, source, delivery, refusal) {
      if (!isDiagnosed(refusal.code) || delivery.body.length > MAX_BODY_BYTES) return
      if (!isDue(name, refusal.code)) return
      running = run(name, { source, others, delivery, refusal }).finally(() => {
        running = undefined
      })
    },
    async idle() {
      await running
    },
  }
}
