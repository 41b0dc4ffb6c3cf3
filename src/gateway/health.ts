import type { ServerResponse } from 'node:http'
import { sharedLook } from '../work/shared-look.ts'
import { sendText } from './listener.ts'

/** Short enough for a load balancer, long enough to protect the ledger from many requests. */
export const LOOK_FRESH_MS = 1_000

/** Answers `/healthz` and `/readyz` on both listeners. Returns false for any other path. */
export type Health = (path: string, response: ServerResponse) => boolean

export function health(ready: () => Promise<boolean>): Health {
  const look = sharedLook(ready, LOOK_FRESH_MS)

  async function answerReady(response: ServerResponse): Promise<void> {
    // A failed check and a negative result are the same for a load balancer.
    const isReady = await look().catch(() => false)
    sendText(response, isReady ? 200 : 503, isReady ? 'ready\n' : 'the ledger cannot record now\n')
  }

  return (path, response) => {
    if (path === '/healthz') sendText(response, 200, 'alive\n')
    else if (path === '/readyz') void answerReady(response)
    else return false
    return true
  }
}
