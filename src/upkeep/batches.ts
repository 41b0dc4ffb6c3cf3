/** Few rows per statement, so that locks are short and vacuum can keep up. */
export const BATCH = 500
/** A shard with a large backlog of old rows is pruned over several runs of the chore. */
const MAX_BATCHES_PER_SHARD = 20

/** Repeats `sweep` while it finds full batches. Returns the number of swept rows. */
export async function inBatches(sweep: () => Promise<number>): Promise<number> {
  let total = 0
  for (let batch = 0; batch < MAX_BATCHES_PER_SHARD; batch += 1) {
    const swept = await sweep()
    total += swept
    if (swept < BATCH) break
  }
  return total
}
