/**
 * The order of deliveries: positions in the list of events. A repeated position is a repeated
 * delivery.
 */
export type Schedule = readonly number[]

/** Every order of every number of deliveries. Undefined if there are more than `limit`. */
export function allSchedules(events: number, maxTimes: number, limit: number): Schedule[] | undefined {
  const found: Schedule[] = []
  for (const counts of countsOf(events, maxTimes)) {
    for (const order of orders(counts)) {
      if (found.length === limit) return undefined
      found.push(order)
    }
  }
  return found
}

/** How often each event is delivered, the fewest deliveries first. */
function countsOf(events: number, maxTimes: number): number[][] {
  let all: number[][] = [[]]
  for (let event = 0; event < events; event += 1)
    all = all.flatMap((counts) => Array.from({ length: maxTimes }, (_, index) => [...counts, index + 1]))
  const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)
  return all.sort((a, b) => total(a) - total(b))
}

function* orders(counts: readonly number[], before: Schedule = []): Generator<Schedule> {
  if (counts.every((count) => count === 0)) return yield before
  for (const [event, count] of counts.entries()) {
    if (count === 0) continue
    yield* orders(counts.with(event, count - 1), [...before, event])
  }
}

/** Distinct random schedules, determined by the seed. */
export function sampledSchedules(
  events: number,
  maxTimes: number,
  { count, seed }: { readonly count: number; readonly seed: number },
): Schedule[] {
  const random = generator(seed)
  const found = new Map<string, Schedule>()
  // The reverse order finds most faults.
  const reversed = Array.from({ length: events }, (_, index) => events - 1 - index)
  found.set(reversed.join(), reversed)
  for (let tries = 0; found.size < count && tries < count * 20; tries += 1) {
    const deliveries = Array.from({ length: events }, (_, event) =>
      Array.from({ length: 1 + Math.floor(random() * maxTimes) }, () => event),
    ).flat()
    const schedule = shuffled(deliveries, random)
    found.set(schedule.join(), schedule)
  }
  return [...found.values()]
}

function shuffled(schedule: readonly number[], random: () => number): number[] {
  const left = [...schedule]
  const made: number[] = []
  while (left.length > 0) made.push(...left.splice(Math.floor(random() * left.length), 1))
  return made
}

/** The generator mulberry32: small, and good enough to choose schedules. */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * The shortest schedule that still fails: omits deliveries one by one, then restores the given
 * order of neighbours, as long as the fault remains.
 */
export async function shrunk(
  schedule: Schedule,
  fails: (schedule: Schedule) => Promise<boolean>,
): Promise<Schedule> {
  let current = schedule
  for (;;) {
    const smaller = await firstFailing(smallerOnes(current), fails)
    if (!smaller) return current
    current = smaller
  }
}

function* smallerOnes(schedule: Schedule): Generator<Schedule> {
  if (schedule.length > 1) for (const index of schedule.keys()) yield schedule.toSpliced(index, 1)
  for (const [index, event] of schedule.entries()) {
    const next = schedule[index + 1]
    if (next !== undefined && next < event) yield schedule.with(index, next).with(index + 1, event)
  }
}

async function firstFailing(
  candidates: Iterable<Schedule>,
  fails: (schedule: Schedule) => Promise<boolean>,
): Promise<Schedule | undefined> {
  for (const candidate of candidates) if (await fails(candidate)) return candidate
  return undefined
}
