// @ts-check
import { jsonOf, makeOrder, send } from '../work.mjs'

/** The ceiling: no keys at all. */
export async function listener() {
  return async (/** @type {any} */ request, /** @type {any} */ response) =>
    send(response, await makeOrder(await jsonOf(request)))
}
