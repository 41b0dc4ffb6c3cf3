/** Thrown by a handler: no further attempt can help. The job is failed at once. */
export class Permanent extends Error {
  override readonly name = 'Permanent'
}

/** Thrown by a handler: try again, but not before this much time has passed. */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter'
  readonly delayMs: number

  constructor(delayMs: number, reason: string, options?: { cause?: unknown }) {
    super(reason, options)
    this.delayMs = delayMs
  }
}
