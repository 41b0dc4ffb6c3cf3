// @ts-check
import { cachedKeys } from '../../product.mjs'
import { listening } from '../work.mjs'
import { callerOver, storeOn } from './hookonce-once.mjs'

/**
 * Like hookonce-once, but completed records are also cached in the process.
 * @param {{ redisPort: number }} on
 */
export const caller = async (on) => callerOver(cachedKeys(await storeOn(on)))

/** @param {{ redisPort: number }} on */
export const listener = async (on) => listening(await caller(on))
