import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../chaos/random.ts'
import { signed } from '../support/source.ts'

/* Providers that send at a fixed rate, whatever the receiver does: an open loop. */

export interface Answered {
  /** 0: no reply. */
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

export interface Generator {
  /** Ids of events with a delivery that was answered with 2xx. */
  readonly accepted: ReadonlySet<string>
  /** Ids of events without an accepted delivery. */
  refused(): string[]
  /** The number of answers with each status since the last call. */
  takeStatuses(): Map<number, number>
  /** The number of 503 without Retry-After. */
  readonly badRefusals: number
  /** Sends new events and typical disturbances of providers, at this rate per second. */
  atRate(perSecond: number, seconds: number): Promise<void>
  /** Sends as fast as answers arrive, on this many connections. */
  closedLoop(connections: number, seconds: number): Promise<void>
  /** Sends one event. Sends it again if `id` was sent before. */
  deliver(id: string): Promise<Answered>
}

/** The limit on connections. Beyond it, a delivery is not sent: a provider has limits, too. */
const MAX_CONNECTIONS = 3_000
const GIVES_UP_MS = 30_000
const TICK_MS = 5

export function generator(port: number, random: Random): Generator {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS })
  const sent: string[] = []
  const accepted = new Set<string>()
  let statuses = new Map<number, number>()
  let badRefusals = 0

  function post(body: string, headers: Record<string, string>, patienceMs = GIVES_UP_MS): Promise<Answered> {
    return new Promise((resolve) => {
      const none = (): void => resolve({ status: 0, headers: {} })
      const asking = request(
        {
          agent,
          port,
          host: '127.0.0.1',
          path: '/in/test',
          method: 'POST',
          headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        },
        (response) => {
          response.resume()
          response.on('error', none)
          response.on('close', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }))
        },
      )
      asking.setTimeout(patienceMs, () => asking.destroy())
      asking.on('error', none)
      asking.end(body)
    })
  }

  function count({ status, headers }: Answered): void {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status === 503 && !(Number(headers['retry-after']) > 0)) badRefusals += 1
  }

  const typeOf = (id: string): string => (Number(id.slice(4)) % 20 === 0 ? 'fails.first' : 'plain')

  async function deliver(id: string, patienceMs?: number): Promise<Answered> {
    const { body, headers } = signed({ id, type: typeOf(id), padding: 'x'.repeat(1_000) })
    const answered = await post(body, headers, patienceMs)
    if (answered.status >= 200 && answered.status < 300) accepted.add(id)
    count(answered)
    return answered
  }

  function next(): string {
    const id = `evt_${sent.length + 1}`
    sent.push(id)
    return id
  }

  /** A new event, with the typical disturbances of providers and networks. */
  async function sendMixed(): Promise<void> {
    const chance = random.below(100)
    const id = next()
    if (chance < 5) await Promise.all([deliver(id), deliver(id)])
    else if (chance < 10) await Promise.all([deliver(id), deliver(random.pick(sent.slice(-10_000)))])
    else if (chance < 12) await Promise.all([deliver(id), forged(id)])
    // The sender disconnects and sends the event again.
    else if (chance < 13) await deliver(id, 1 + random.below(20)).then(() => deliver(id))
    else await deliver(id)
  }

  async function forged(id: string): Promise<void> {
    const { body } = signed({ id: `forged_${id}`, type: 'plain' })
    count(await post(body, { 'test-signature': '00'.repeat(32) }))
  }

  return {
    accepted,
    refused: () => sent.filter((id) => !accepted.has(id)),
    takeStatuses() {
      const taken = statuses
      statuses = new Map()
      return taken
    },
    get badRefusals() {
      return badRefusals
    },
    deliver,
    async atRate(perSecond, seconds) {
      const startedAt = performance.now()
      const pending = new Set<Promise<void>>()
      let begun = 0
      for (;;) {
        const elapsed = (performance.now() - startedAt) / 1_000
        if (elapsed >= seconds) break
        for (; begun < elapsed * perSecond; begun += 1) {
          if (pending.size >= MAX_CONNECTIONS) continue
          const sending = sendMixed().finally(() => pending.delete(sending))
          pending.add(sending)
        }
        await delay(TICK_MS)
      }
      await Promise.all(pending)
    },
    async closedLoop(connections, seconds) {
      const startedAt = performance.now()
      async function loop(): Promise<void> {
        while (performance.now() - startedAt < seconds * 1_000) await sendMixed()
      }
      await Promise.all(Array.from({ length: connections }, loop))
    },
  }
}
