import { setTimeout as delay } from 'node:timers/promises'
import { datedSource, payloadOf } from './events.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

/*
 * Senders that behave like providers. Several run in parallel. Each retries until it is answered,
 * sends copies at the same time, gives up on late replies, and repeats events that were
 * acknowledged long ago. Each delivery is signed anew, with the date of the sender's clock.
 */
const AT_ONCE = 12
const PATIENCE_MS = 1_500
/** Early repeats are as likely as late ones. */
const SOON = 50

export interface SendersOptions {
  readonly seed: number
  readonly events: number
  readonly random: Random
  /** The number of events that may be sent by now: they must last as long as the faults. */
  readonly allowed: () => number
  /** After this, no new event is sent. */
  readonly isOver: () => boolean
}

/** Sends all events. Resolves when each is acknowledged. */
export async function sendAll(
  world: World,
  { seed, events, random, allowed, isOver }: SendersOptions,
): Promise<void> {
  const { apps, history } = world
  const source = datedSource()

  /** Returns whether the event was acknowledged. */
  async function deliver(event: number): Promise<boolean> {
    const app = random.pick(apps)
    const url = app.url()
    if (url === undefined) return false
    const body = JSON.stringify(payloadOf(seed, event))
    const headers = source.sign({ body, timestampMs: Date.now() + world.sendersAheadMs })
    const sentMs = history.now()
    // A sender that disconnects at once has sent its delivery, and loses the reply.
    const signal = AbortSignal.timeout(random.below(10) === 0 ? random.below(20) : PATIENCE_MS)
    const status = await fetch(url, { method: 'POST', body, headers, signal })
      .then(async (reply) => {
        await reply.arrayBuffer().catch(() => undefined)
        return reply.status
      })
      // Without an answer, the event is sent again.
      .catch(() => null)
    const times = { sent_ms: sentMs, answered_ms: history.now() }
    history.add('delivery', { event, app: app.name, ...times, status })
    const isAcknowledged = status !== null && status < 300
    if (isAcknowledged) world.acknowledged += 1
    return isAcknowledged
  }

  async function deliverUntilAcknowledged(event: number): Promise<void> {
    for (let isAcknowledged = false; !isAcknowledged; ) {
      const copies = Array.from({ length: random.below(5) === 0 ? 3 : 1 }, () => deliver(event))
      isAcknowledged = (await Promise.all(copies)).includes(true)
      if (!isAcknowledged) await delay(50 + random.below(200))
    }
    if (random.below(8) > 0) return
    const age = random.below(2) === 0 ? random.below(SOON) : random.below(world.newest)
    await deliver(Math.max(1, world.newest - age))
  }

  async function oneSender(): Promise<void> {
    while (world.newest < events && !isOver()) {
      if (world.newest >= allowed()) {
        await delay(10)
        continue
      }
      // Two events of one object may be sent in the wrong order.
      const pair = [world.newest + 1, world.newest + 2].filter((event) => event <= events)
      world.newest += pair.length
      for (const event of random.below(4) === 0 ? pair.reverse() : pair) await deliverUntilAcknowledged(event)
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, oneSender))
}
