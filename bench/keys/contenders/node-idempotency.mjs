// @ts-check
import { Idempotency } from '@node-idempotency/core'
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis'
import { listening, makeOrder } from '../work.mjs'

/**
 * The core of the library, without a framework: it stores the body and the additional data that is
 * passed to it.
 * @param {{ redisPort: number }} on
 */
export async function caller({ redisPort }) {
  const storage = new RedisStorageAdapter({ url: `redis://127.0.0.1:${redisPort}` })
  await storage.connect()
  const idempotency = new Idempotency(storage, { enforceIdempotency: true })
  return async (/** @type {import('../work.mjs').Asked} */ { url, ...rest }) => {
    const asked = { ...rest, path: url }
    try {
      const kept = await idempotency.onRequest(asked)
      if (kept) return { .../** @type {any} */ (kept.additional), body: kept.body }
      const { body: text, ...additional } = await makeOrder(rest.body)
      await idempotency.onResponse(asked, { body: text, additional })
      return { ...additional, body: text }
    } catch (error) {
      const code = /** @type {any} */ (error).code
      return { status: statuses[code] ?? 500, headers: {}, body: String(code) }
    }
  }
}

/** @param {{ redisPort: number }} on */
export const listener = async (on) => listening(await caller(on))

/** @type {Record<string, number>} */
const statuses = { REQUEST_IN_PROGRESS: 409, IDEMPOTENCY_FINGERPRINT_MISSMATCH: 422 }
