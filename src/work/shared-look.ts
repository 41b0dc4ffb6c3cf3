/**
 * Makes a read cheap that many callers request. Callers that arrive during a read share it, and its
 * result (or failure) is served for `freshMs` afterwards. One read runs at a time, for any number
 * of callers.
 */
export function sharedLook<Result>(look: () => Promise<Result>, freshMs = 0): () => Promise<Result> {
  let latest: Promise<Result> | undefined
  let staleAt = 0

  return () => {
    if (latest && performance.now() < staleAt) return latest
    staleAt = Number.POSITIVE_INFINITY
    latest = look().finally(() => {
      staleAt = performance.now() + freshMs
    })
    return latest
  }
}
