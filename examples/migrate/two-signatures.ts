import { createServer, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { type Delivery, type Source, standardWebhooks } from 'hookonce/sources'
import type pg from 'pg'

export interface TwoGateways {
  /** Verifies the old service: hookdeck({ secret }), svix({ secret }), or custom({ … }) for Convoy. */
  readonly old: Source
  /** The secret of your destination in hookonce. */
  readonly forwardSecret: string
  readonly pool: pg.Pool
  work(tx: pg.PoolClient, event: { readonly id: string }): Promise<void>
}

export function twoSignatureApp({ old, forwardSecret, pool, work }: TwoGateways) {
  const fromHookonce = standardWebhooks({ secret: forwardSecret })

  async function statusFor(delivery: Delivery): Promise<number> {
    const isFromHookonce = fromHookonce.verify(delivery).ok
    if (!isFromHookonce && !old.verify(delivery).ok) return 401
    const event = JSON.parse(Buffer.from(delivery.body).toString())
    // Both give the provider's id of the event. From the old service, Stripe's is in the body.
    const key = isFromHookonce ? delivery.header('hookonce-event-key') : event.id
    if (typeof key !== 'string') throw new Error('the request has no event key')
    await oncePerKey(pool, decodeURIComponent(key), (tx) => work(tx, event))
    return 204
  }

  return createServer(async (request, response) => {
    // Both services retry after a 500.
    const status = await deliveryOf(request)
      .then(statusFor)
      .catch(() => 500)
    response.writeHead(status).end()
  })
}

async function deliveryOf(request: IncomingMessage): Promise<Delivery> {
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    header: (name) => request.headers[name]?.toString(),
    body: await buffer(request),
    receivedAtMs: Date.now(),
  }
}

/** Commits the mark together with the writes. A simultaneous copy waits for the mark. */
async function oncePerKey(pool: pg.Pool, key: string, work: (tx: pg.PoolClient) => Promise<void>) {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    const marked = await tx.query('insert into processed_events (id) values ($1) on conflict do nothing', [
      key,
    ])
    if (marked.rowCount === 1) await work(tx)
    await tx.query('commit')
  } catch (error) {
    await tx.query('rollback')
    throw error
  } finally {
    tx.release()
  }
}
