import { setTimeout as delay } from 'node:timers/promises'
import { signed } from '../support/source.ts'
import type { Random } from './random.ts'
import type { ChaosApp } from './world.ts'

/*
 * Providers as they are: several at once, each retries until it is answered, sends copies at the
 * same time, gives up on a reply that is late, and sends again what was acknowledged long ago.
 */
export interface SentEvent {
  readonly id: string
  readonly entity: string
  readonly version: number
}

export interface Senders {
  readonly sent: readonly SentEvent[]
  /** The ids of what some delivery was answered with 2xx. */
  readonly acknowledged: ReadonlySet<string>
  /** Deliveries so far, copies and repeats included. */
  readonly deliveries: number
  /** Sends all; resolves when each event is acknowledged. */
  run(): Promise<void>
}

const ENTITIES = 40
const AT_ONCE = 12
const PATIENCE_MS = 1_500

export interface SendersOptions {
  readonly events: number
  readonly random: Random
  /** How many events may be sent by now: they are to last as long as the faults. */
  readonly allowed: () => number
}

export function senders(apps: readonly ChaosApp[], { events, random, allowed }: SendersOptions): Senders {
  const sent: SentEvent[] = []
  const acknowledged = new Set<string>()
  const versions = new Map<string, number>()
  let deliveries = 0

  function nextEvent(): SentEvent {
    const entity = `entity_${random.below(ENTITIES)}`
    const version = (versions.get(entity) ?? 0) + 1
    versions.set(entity, version)
    const event = { id: `evt_${sent.length + 1}`, entity, version }
    sent.push(event)
    return event
  }

  async function deliver(event: SentEvent): Promise<void> {
    deliveries += 1
    const url = apps[random.below(apps.length)]?.url()
    if (url === undefined) return
    // A sender that hangs up at once has sent its delivery, and loses the reply.
    const signal = AbortSignal.timeout(random.below(10) === 0 ? random.below(20) : PATIENCE_MS)
    try {
      const reply = await fetch(url, { ...signed({ ...event, type: 'changed' }), signal })
      if (reply.ok) acknowledged.add(event.id)
      await reply.arrayBuffer()
    } catch {
      // No answer: it is sent again.
    }
  }

  async function deliverUntilAcknowledged(event: SentEvent): Promise<void> {
    while (!acknowledged.has(event.id)) {
      const copies = random.below(5) === 0 ? 3 : 1
      await Promise.all(Array.from({ length: copies }, () => deliver(event)))
      if (!acknowledged.has(event.id)) await delay(50 + random.below(200))
    }
    const old = sent[random.below(sent.length)]
    if (old !== undefined && random.below(8) === 0) await deliver(old)
  }

  async function oneSender(): Promise<void> {
    while (sent.length < events) {
      if (sent.length >= allowed()) {
        await delay(10)
        continue
      }
      // Two events of one object may be sent in the wrong order.
      const pair = [nextEvent(), ...(sent.length < events && random.below(4) === 0 ? [nextEvent()] : [])]
      for (const event of pair.reverse()) await deliverUntilAcknowledged(event)
    }
  }

  return {
    sent,
    acknowledged,
    get deliveries() {
      return deliveries
    },
    async run() {
      await Promise.all(Array.from({ length: AT_ONCE }, oneSender))
    },
  }
}
