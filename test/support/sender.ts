import { onTestFinished } from 'vitest'

/** The answers that a sender got, by event key. */
export interface Sender {
  readonly acknowledged: Set<string>
  readonly statuses: number[]
  stop(): Promise<void>
}

/** Four connections that keep sending new events, each as soon as the last is answered. */
export function sendOn(send: (payload: { id: string; type: string }) => Promise<Response>): Sender {
  const acknowledged = new Set<string>()
  const statuses: number[] = []
  let stopped = false
  let next = 0
  async function loop(): Promise<void> {
    while (!stopped) {
      next += 1
      const id = `evt_${next}`
      const { status } = await send({ id, type: 'count.a' })
      statuses.push(status)
      if (status < 300) acknowledged.add(id)
    }
  }
  const loops = Array.from({ length: 4 }, loop)
  async function stop(): Promise<void> {
    stopped = true
    await Promise.all(loops)
  }
  // A failed test must not also report that the sender lost its server.
  onTestFinished(stop)
  return { acknowledged, statuses, stop }
}
