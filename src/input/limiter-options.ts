import { z } from 'zod'
import { MINUTE_MS, SECOND_MS } from '../model/durations.ts'
import { strict } from './checked.ts'

/* The options of a subscriber that limit its runs, with the reason for each default. */

/** A timer of Node holds 31 bits of milliseconds, and so does the ledger. */
const milliseconds = z
  .number()
  .positive()
  .max(2 ** 31 - 1)

const circuit = strict({
  /** The circuit opens if at least this share of the latest jobs failed. */
  failureRate: z.number().positive().max(1).default(0.5),
  /**
   * The circuit does not open before this many jobs have run: two failures of three are not an
   * outage.
   */
  minSamples: z.int().min(1).max(100).default(10),
  /**
   * Older runs do not count. Even with two at a time, ten runs of a minute each (the handler's
   * timeout) end within five minutes.
   */
  windowMs: milliseconds.default(5 * MINUTE_MS),
  /** The first probe comes after this time: a restart takes some ten seconds. */
  openMs: milliseconds.default(10 * SECOND_MS),
  /**
   * The delay doubles after each failed probe, up to this limit, so that the end of an outage is
   * noticed soon.
   */
  maxOpenMs: milliseconds.default(5 * MINUTE_MS),
  /** This many probes in a row must succeed, because one success can be chance. */
  probes: z.int().min(1).max(100).default(3),
}).refine(({ openMs, maxOpenMs }) => openMs <= maxOpenMs, {
  path: ['maxOpenMs'],
  message: 'must not be less than openMs',
})

export const circuitSchema = z.union([z.literal('off'), circuit], {
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

export type CircuitOptions = z.output<typeof circuit>
export type RateOptions = z.output<typeof rateSchema>

export function burstOf({ perSecond, burst }: RateOptions): number {
  return burst ?? Math.max(1, perSecond / 4)
}
