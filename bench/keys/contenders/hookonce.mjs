// @ts-check
import { createClient } from '@redis/client'
import { nodeKeys, redisKeys } from '../../product.mjs'
import { jsonOf, makeOrder, send } from '../work.mjs'

/** @param {{ redisPort: number }} on */
export async function listener({ redisPort }) {
  const client = await createClient({ url: `redis://127.0.0.1:${redisPort}` }).connect()
  const keys = nodeKeys({ store: redisKeys({ client }), tenant: 'global' })
  return keys(
    async (
      /** @type {import('node:http').IncomingMessage} */ request,
      /** @type {import('node:http').ServerResponse} */ response,
    ) => send(response, await makeOrder(await jsonOf(request))),
  )
}
