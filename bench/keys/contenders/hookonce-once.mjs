// @ts-check
import { createClient } from '@redis/client'
import { once, redisKeys } from '../../product.mjs'
import { jsonOf, makeOrder, send } from '../work.mjs'

/**
 * As those peers are used that protect a function and not a route: it is called by hand, with what belongs to the key,
 * and what the function returns is kept.
 *
 * @param {{ redisPort: number }} on
 */
export async function listener({ redisPort }) {
  const client = await createClient({ url: `redis://127.0.0.1:${redisPort}` }).connect()
  const store = redisKeys({ client })
  return async (/** @type {any} */ request, /** @type {any} */ response) => {
    const body = await jsonOf(request)
    /** @type {Record<string, string>} */
    let forTheFirst = {}
    async function order() {
      const { headers, ...made } = await makeOrder(body)
      const { 'set-cookie': cookie = '', ...kept } = headers
      forTheFirst = { 'set-cookie': cookie }
      return { ...made, headers: kept }
    }
    try {
      const key = request.headers['idempotency-key']
      const made = await once(store, key, order, { tenant: 'global', input: body })
      send(response, { ...made, headers: { ...made.headers, ...forTheFirst } })
    } catch (error) {
      const { code } = /** @type {{ code: string }} */ (error)
      send(response, { status: statuses[code] ?? 500, headers: {}, body: code })
    }
  }
}

/** @type {Record<string, number>} */
const statuses = { KEY_IN_PROGRESS: 409, KEY_REUSED: 422 }
