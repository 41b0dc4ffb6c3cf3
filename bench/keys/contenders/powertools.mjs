// @ts-check
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency'
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache'
import { createClient } from '@redis/client'
import { listening, makeOrder } from '../work.mjs'

/**
 * It protects functions, so it stores the result of a function: status, headers and body as one
 * value.
 * @param {{ redisPort: number, useLocalCache?: boolean }} on
 */
export async function caller({ redisPort, useLocalCache = false }) {
  const client = await createClient({ url: `redis://127.0.0.1:${redisPort}` }).connect()
  const config = new IdempotencyConfig({
    eventKeyJmesPath: 'key',
    throwOnNoIdempotencyKey: true,
    expiresAfterSeconds: 86_400,
    useLocalCache,
    // payloadValidationJmesPath is not used: with it, this version refuses every replay from Redis,
    // because the completed record lacks the hash that it compares.
  })
  // Even outside of Lambda it must know how long a run may take. Otherwise it has no lock.
  config.registerLambdaContext(/** @type {any} */ ({ getRemainingTimeInMillis: () => LOCK_MS }))
  const once = makeIdempotent((/** @type {{ key: string, body: any }} */ { body }) => makeOrder(body), {
    persistenceStore: new CachePersistenceLayer({ client }),
    config,
  })
  return async (/** @type {import('../work.mjs').Asked} */ { headers, body }) => {
    try {
      return await once({ key: headers['idempotency-key'], body })
    } catch (error) {
      const name = error instanceof Error ? error.name : ''
      return { status: statuses[name] ?? 500, headers: {}, body: name }
    }
  }
}

/** @param {{ redisPort: number }} on */
export const listener = async (on) => listening(await caller(on))

const LOCK_MS = 60_000
/** @type {Record<string, number>} */
const statuses = { IdempotencyAlreadyInProgressError: 409, IdempotencyValidationError: 422 }
