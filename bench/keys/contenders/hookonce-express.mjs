// @ts-check
import express from 'express'
import { listener as keyed } from './hookonce.mjs'

/**
 * The same inside Express: what express-idempotency is to be compared with.
 *
 * @param {{ redisPort: number }} on
 */
export async function listener(on) {
  return express().post('/orders', await keyed(on))
}
