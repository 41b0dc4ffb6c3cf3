/**
 * A point at which this many handlers wait for each other. They return in one turn, so that their
 * writes share a commit.
 */
export function meeting(count: number): () => Promise<void> {
  let arrived = 0
  let open: () => void = () => undefined
  const all = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    arrived += 1
    if (arrived === count) open()
    return all
  }
}
