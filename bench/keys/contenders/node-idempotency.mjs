// @ts-check
import { Idempotency } from '@node-idempotency/core'
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis'
import { jsonOf, makeOrder, send } from '../work.mjs'

/**
 * Its core, without a framework: it keeps the body and what is handed to it beside.
 *
 * @param {{ redisPort: number }} on
 */
export async function listener({ redisPort }) {
  const storage = new RedisStorageAdapter({ url: `redis://127.0.0.1:${redisPort}` })
  await storage.connect()
  const idempotency = new Idempotency(storage, { enforceIdempotency: true })
  return async (/** @type {any} */ request, /** @type {any} */ response) => {
    const body = await jsonOf(request)
    const asked = { headers: request.headers, path: request.url, method: request.method, body }
    try {
      const kept = await idempotency.onRequest(asked)
      if (kept) return send(response, { .../** @type {any} */ (kept.additional), body: kept.body })
      const { body: text, ...additional } = await makeOrder(body)
      await idempotency.onResponse(asked, { body: text, additional })
      send(response, { .../** @type {any} */ (additional), body: text })
    } catch (error) {
      const code = /** @type {any} */ (error).code
      send(response, { status: statuses[code] ?? 500, headers: {}, body: String(code) })
    }
  }
}

/** @type {Record<string, number>} */
const statuses = { REQUEST_IN_PROGRESS: 409, IDEMPOTENCY_FINGERPRINT_MISSMATCH: 422 }
