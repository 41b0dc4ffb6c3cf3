// @ts-check
import { createClient } from '@redis/client'
import { once, redisKeys } from '../../product.mjs'
import { listening, makeOrder } from '../work.mjs'

/** @param {{ redisPort: number }} on */
export async function storeOn({ redisPort }) {
  return redisKeys({ client: await createClient({ url: `redis://127.0.0.1:${redisPort}` }).connect() })
}

/** @param {{ redisPort: number }} on */
export const caller = async (on) => callerOver(await storeOn(on))

/**
 * Used like the peers that protect a function and not a route: the function is called by hand, with
 * the facts that belong to the key, and its result is stored.
 * @param {import('../../../dist/keys/index.js').KeyStore} store
 */
export function callerOver(store) {
  return async (/** @type {import('../work.mjs').Asked} */ { headers, body }) => {
    /** @type {Record<string, string>} */
    let forTheFirst = {}
    async function order() {
      const { headers, ...made } = await makeOrder(body)
      const { 'set-cookie': cookie = '', ...kept } = headers
      forTheFirst = { 'set-cookie': cookie }
      return { ...made, headers: kept }
    }
    try {
      const made = await once(store, headers['idempotency-key'], order, { tenant: 'global', input: body })
      return { ...made, headers: { ...made.headers, ...forTheFirst } }
    } catch (error) {
      const { code } = /** @type {{ code: string }} */ (error)
      return { status: statuses[code] ?? 500, headers: {}, body: code }
    }
  }
}

/** @param {{ redisPort: number }} on */
export const listener = async (on) => listening(await caller(on))

/** @type {Record<string, number>} */
const statuses = { KEY_IN_PROGRESS: 409, KEY_REUSED: 422 }
