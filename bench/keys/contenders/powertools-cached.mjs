// @ts-check
import { listening } from '../work.mjs'
import { caller as powertools } from './powertools.mjs'

/**
 * Like powertools, with its cache in the process.
 * @param {{ redisPort: number }} on
 */
export const caller = (on) => powertools({ ...on, useLocalCache: true })

/** @param {{ redisPort: number }} on */
export const listener = async (on) => listening(await caller(on))
