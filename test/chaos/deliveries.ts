import { onTestFinished } from 'vitest'
import { openConnections } from './connections.ts'
import { datedSource, payloadOf } from './events.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

/*
 * Deliveries of signed events to one of the processes. Each is recorded in the history with its
 * answer.
 */
export interface Deliveries {
  /** Sends so many copies at the same time. Returns whether one of them was acknowledged. */
  send(event: number, copies: number, random: Random): Promise<boolean>
}

const PATIENCE_MS = 1_500
/** One in so many senders hangs up early: it has sent its delivery, and loses the reply. */
const HANGS_UP = 12
const HANGS_UP_MS = 20

export function openDeliveries(world: World, seed: number): Deliveries {
  const { apps, history } = world
  const source = datedSource()
  const receivers = apps.filter(({ role }) => role !== 'works')
  const connections = openConnections()
  onTestFinished(connections.close)

  /** Signed with the date of the sender's clock. */
  function signedRequest(event: number): string {
    const body = JSON.stringify(payloadOf(seed, event))
    const headers = source.sign({ body, timestampMs: Date.now() + world.sendersAheadMs })
    const lines = Object.entries({ host: 'receiver', ...headers, 'content-length': body.length })
    return `POST /in/test HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
  }

  async function sendOne(event: number, request: string, random: Random): Promise<boolean> {
    const app = random.pick(receivers)
    const { port } = app
    if (port === undefined) return false
    const sentMs = history.now()
    const patienceMs = random.below(HANGS_UP) === 0 ? random.below(HANGS_UP_MS) : PATIENCE_MS
    const status = await connections.send(port, request, patienceMs)
    history.add('delivery', {
      ...{ event, app: app.name, sent_ms: sentMs },
      ...{ answered_ms: history.now(), status },
    })
    if (status === 202) world.recorded += 1
    return status !== null && status < 300
  }

  return {
    async send(event, copies, random) {
      // Copies are sent with one signature: a provider signs an event once for several tries.
      const request = signedRequest(event)
      const sent = Array.from({ length: copies }, () => sendOne(event, request, random))
      return (await Promise.all(sent)).includes(true)
    },
  }
}
