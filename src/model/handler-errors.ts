/** Thrown by a handler: no further attempt can help. The job is failed at once. */
export class Permanent extends Error {
  override readonly name = 'Permanent'
}

/** Thrown by a handler: retry, but not before this delay has passed. */
export class RetryAfter extends Error {
  override readonly name: string = 'RetryAfter'
  readonly delayMs: number

  constructor(delayMs: number, reason: string, options?: { cause?: unknown }) {
    super(reason, options)
    this.delayMs = delayMs
  }
}

/**
 * Thrown inside an effect: the called service replied that the effect did not happen. The next
 * attempt starts the effect again. After any other error, its outcome is unknown.
 */
export class NotDone extends RetryAfter {
  override readonly name: string = 'NotDone'

  constructor(reason: string, options: { cause?: unknown; delayMs?: number } = {}) {
    super(options.delayMs ?? 0, reason, options)
  }
}

/** Thrown by ctx.defer(): the job runs later. The run does not count as a failure. */
export class Deferred extends Error {
  override readonly name: string = 'Deferred'
  readonly delayMs: number

  constructor(delayMs: number, reason: string) {
    super(reason)
    this.delayMs = delayMs
  }
}

/** Another job is running the same effect, so this job waits. */
export class EffectBusy extends Deferred {
  override readonly name = 'EffectBusy'
}
