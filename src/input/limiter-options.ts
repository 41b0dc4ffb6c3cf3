import { z } from 'zod'
import { MINUTE_MS, SECOND_MS } from '../model/durations.ts'
import { strict } from './checked.ts'

/* The options of a subscriber that limit its runs, with the reason for each default. */

/** A timer of Node holds 31 bits of milliseconds, and so does the ledger. */
const milliseconds = z
  .number()
  .positive()
  .max(2 ** 31 - 1)

export const circuitOptions = strict({
  failureRate: z
    .number()
    .positive()
    .max(1)
    .default(0.5)
    .describe(
      'opens if at least this share of the latest jobs failed. The latest run of each of the last 100 jobs counts',
    ),
  /** Two failures of three are no outage. */
  minSamples: z.int().min(1).max(100).default(10).describe('does not open before this many jobs have run'),
  /**
   * Ten runs that each take a handler's whole minute end within five minutes, even if only two run
   * at a time.
   */
  windowMs: milliseconds.default(5 * MINUTE_MS).describe('older runs do not count'),
  /** A restart takes some ten seconds. */
  openMs: milliseconds.default(10 * SECOND_MS).describe('the time to the first probe'),
  /** After each failed probe the time doubles. The end of an outage must be noticed soon. */
  maxOpenMs: milliseconds.default(5 * MINUTE_MS).describe('the longest time between two probes'),
  /** A single success can be chance. */
  probes: z.int().min(1).max(100).default(3).describe('this many probes in a row must succeed'),
}).refine(({ openMs, maxOpenMs }) => openMs <= maxOpenMs, {
  path: ['maxOpenMs'],
  message: 'must not be less than openMs',
})

export const circuitSchema = z.union([z.literal('off'), circuitOptions], {
  error: "must be an object such as { failureRate: 0.5, minSamples: 10 }, or 'off'",
})

export const rateSchema = strict({
  /**
   * The number of runs that begin per second, over all processes. `0.1`: one run in ten seconds.
   */
  perSecond: z.number().positive().max(1_000_000),
  /**
   * How many runs may begin at once after a quiet time. The default is a quarter of `perSecond`, so
   * that no second has many more than `perSecond` runs.
   */
  burst: z.number().min(1).max(1_000_000).optional(),
})

export type CircuitOptions = z.output<typeof circuitOptions>
export type RateOptions = z.output<typeof rateSchema>

export function burstOf({ perSecond, burst }: RateOptions): number {
  return burst ?? Math.max(1, perSecond / 4)
}
