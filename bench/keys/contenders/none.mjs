// @ts-check
import { listening, makeOrder } from '../work.mjs'

/** The ceiling: no keys at all. */
export async function caller() {
  return async (/** @type {import('../work.mjs').Asked} */ { body }) => makeOrder(body)
}

export const listener = async () => listening(await caller())
