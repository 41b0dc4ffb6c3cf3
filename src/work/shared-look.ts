/**
 * Makes a look that many may ask for cheap: callers that come while one is under way share it, and
 * its result (or failure) is served for `freshMs` after it. However many ask, one look runs at a
 * time.
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
