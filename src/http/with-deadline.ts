interface Deadline {
  /** Signals that also abort the work, each with its own reason. */
  readonly parents: readonly AbortSignal[]
  readonly timeoutMs: number
  /** The reason with which the work is aborted. */
  readonly tooSlow: () => Error
}

/**
 * Runs work with a signal that is aborted at its deadline. Timer and listeners end with the work.
 *
 * Not with AbortSignal.timeout() and AbortSignal.any(): Node holds them weakly, so a garbage
 * collection can remove the deadline. For the same reason, pass the signal to `fetch()` itself, not
 * to `new Request()`.
 */
export async function withDeadline<Result>(
  { parents, timeoutMs, tooSlow }: Deadline,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  const listeners = parents.map((parent) => [parent, () => controller.abort(parent.reason)] as const)
  const timer = setTimeout(() => controller.abort(tooSlow()), timeoutMs)
  for (const [parent, onAbort] of listeners) {
    parent.addEventListener('abort', onAbort)
    if (parent.aborted) onAbort()
  }
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    for (const [parent, onAbort] of listeners) parent.removeEventListener('abort', onAbort)
  }
}
