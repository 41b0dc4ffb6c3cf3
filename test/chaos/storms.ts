import { setTimeout as delay } from 'node:timers/promises'
import type { Deliveries } from './deliveries.ts'
import type { Pace } from './pace.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

/*
 * A provider that lost replies, or had an outage, sends a whole range of events again, over many
 * connections at once. Events of all ages come, most of them acknowledged long ago, some still under
 * way.
 */
interface Storms {
  readonly deliveries: Deliveries
  readonly pace: Pace
  readonly random: Random
}

/** Ranges of this many events at most, over this many connections. */
const RANGE = 400
const WIDTH = 12
const COPIES = 3
/** The retry schedule of a provider that is not answered, or told to come later. */
const RETRIES_MS = [50, 200, 800]

/** One storm after the other, until the run is over. */
export async function storm(world: World, { deliveries, pace, random }: Storms): Promise<void> {
  async function redeliver(event: number, copies: number): Promise<void> {
    for (const waitMs of RETRIES_MS) {
      if (await deliveries.send(event, copies, random)) return
      await delay(waitMs + random.below(waitMs))
    }
  }

  async function oneStorm(): Promise<void> {
    const { first, last } = rangeOf(world.newest, random)
    const copies = 1 + random.below(COPIES)
    let next = first
    const connection = async (): Promise<void> => {
      while (next <= last && !pace.isOver()) {
        if (!pace.mayStorm()) {
          await delay(5)
          continue
        }
        const event = next
        next += 1
        await redeliver(event, copies)
      }
    }
    await Promise.all(Array.from({ length: 1 + random.below(WIDTH) }, connection))
  }

  while (!pace.isOver()) {
    if (world.newest > 0) await oneStorm()
    await delay(random.below(50))
  }
}

/** The newest, any, or the oldest events. */
function rangeOf(newest: number, random: Random): { first: number; last: number } {
  const size = 1 + random.below(Math.min(RANGE, newest))
  const latest = newest - size + 1
  const first = random.pick([latest, 1 + random.below(latest), 1 + random.below(latest), 1])
  return { first, last: first + size - 1 }
}
