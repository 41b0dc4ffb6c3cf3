import { setTimeout as delay } from 'node:timers/promises'
import { type Deliveries, openDeliveries } from './deliveries.ts'
import type { Pace } from './pace.ts'
import { type Random, randomOf } from './random.ts'
import { storm } from './storms.ts'
import type { World } from './world.ts'

/*
 * Providers as they are: several at once, each retries until it is answered, sends copies at the
 * same time, gives up on a reply that is late, and sends again what was acknowledged long ago, one by
 * one or in storms (storms.ts). Each delivery is signed with the date of the sender's clock.
 */
const AT_ONCE = 12
const STORMS_AT_ONCE = 3
/** Repeats soon after are as likely as late ones. */
const SOON = 50

export interface SendersOptions {
  readonly seed: number
  readonly pace: Pace
}

/** Sends until the run is over; resolves when each event is acknowledged. */
export async function sendAll(world: World, { seed, pace }: SendersOptions): Promise<void> {
  const deliveries = openDeliveries(world, seed)
  const senders = Array.from({ length: AT_ONCE }, (_, at) =>
    sendEvents(world, { deliveries, pace, random: randomOf(seed + 100 + at) }),
  )
  const storms = Array.from({ length: STORMS_AT_ONCE }, (_, at) =>
    storm(world, { deliveries, pace, random: randomOf(seed + 200 + at) }),
  )
  await Promise.all([...senders, ...storms])
}

interface Sender {
  readonly deliveries: Deliveries
  readonly pace: Pace
  readonly random: Random
}

async function sendEvents(world: World, { deliveries, pace, random }: Sender): Promise<void> {
  async function sendUntilAcknowledged(event: number): Promise<void> {
    while (!(await deliveries.send(event, random.below(5) === 0 ? 3 : 1, random)))
      await delay(50 + random.below(200))
    if (random.below(8) > 0) return
    const age = random.below(2) === 0 ? random.below(SOON) : random.below(world.newest)
    await deliveries.send(Math.max(1, world.newest - age), 1, random)
  }

  while (!pace.isOver()) {
    if (!pace.mayBegin()) {
      await delay(10)
      continue
    }
    // Two events of one object may be sent in the wrong order.
    const pair = [world.newest + 1, world.newest + 2]
    world.newest += pair.length
    for (const event of random.below(4) === 0 ? pair.reverse() : pair) await sendUntilAcknowledged(event)
  }
}
