// @ts-check
import express from 'express'
import { listener as keyed } from './hookonce.mjs'

/**
 * hookonce inside Express, to be compared with express-idempotency.
 * @param {{ redisPort: number }} on
 */
export async function listener(on) {
  return express().post('/orders', await keyed(on))
}
