interface Deadline {
  /** Also aborts the work, with its own reason. */
  readonly parent: AbortSignal
  readonly timeoutMs: number
  /** The reason with which the work is aborted. */
  readonly tooSlow: () => Error
}

/**
 * Runs work with a signal that is aborted at its deadline. Timer and listener end with the work.
 * With AbortSignal.timeout() each request would keep them until the deadline.
 */
export async function withDeadline<Result>(
  { parent, timeoutMs, tooSlow }: Deadline,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  const onAbort = (): void => controller.abort(parent.reason)
  const timer = setTimeout(() => controller.abort(tooSlow()), timeoutMs)
  parent.addEventListener('abort', onAbort)
  if (parent.aborted) onAbort()
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    parent.removeEventListener('abort', onAbort)
  }
}
