/**
 * Makes a read cheap that many callers request. Callers that arrive during a read share it, and its
 * result (or failure) is served for `freshMs` after it. However many callers there are, one read
 * runs at a time.
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
