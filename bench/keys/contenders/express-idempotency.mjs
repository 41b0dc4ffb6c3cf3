// @ts-check
import express from 'express'
import { getSharedIdempotencyService, idempotency } from 'express-idempotency'
import redisAdapter from 'express-idempotency-redis-adapter'
import { makeOrder } from '../work.mjs'

/** @param {{ redisPort: number }} on */
export async function listener({ redisPort }) {
  const RedisAdapter = /** @type {any} */ (redisAdapter).default ?? redisAdapter
  const dataAdapter = new RedisAdapter({ connectionConfig: { url: `redis://127.0.0.1:${redisPort}` } })
  await dataAdapter.connect()
  const app = express()
  app.use(express.json(), idempotency({ dataAdapter }))
  app.post('/orders', async (/** @type {any} */ request, /** @type {any} */ response) => {
    // As its docs require: the handler itself must return early if the reply was stored.
    if (getSharedIdempotencyService().isHit(request)) return
    const { status, headers, body } = await makeOrder(request.body)
    response.status(status).set(headers).send(body)
  })
  app.use(
    (
      /** @type {any} */ error,
      /** @type {any} */ _request,
      /** @type {any} */ response,
      /** @type {any} */ _next,
    ) => {
      if (!response.headersSent) response.status(409).send(String(error.message))
    },
  )
  return app
}
