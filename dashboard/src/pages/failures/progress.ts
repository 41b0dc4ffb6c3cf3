import { formatDuration } from '../../format.ts'
import { texts } from '../../texts.ts'

/* The progress of a replay of many jobs, as text. */

const words = texts.failures.replays

export interface Progress {
  readonly state: 'running' | 'done' | 'cancelled'
  readonly expected: number
  readonly replayed: number
  readonly perSecond: number
  readonly createdAt: string
  readonly endedAt: string | null
}

export interface ProgressSample {
  readonly at: number
  readonly replayed: number
}

/** A replay runs in batches: over a shorter time, the rate would be inaccurate. */
const SHORTEST_MS = 4_000

/** Jobs per second since the oldest reading. Undefined: there are not enough readings yet. */
export function rateOf(readings: readonly ProgressSample[]): number | undefined {
  const [first, last] = [readings[0], readings.at(-1)]
  if (!first || !last || last.at - first.at < SHORTEST_MS) return undefined
  return ((last.replayed - first.replayed) * 1_000) / (last.at - first.at)
}

/**
 * The remaining time. For a stalled replay, the time that its rate limit implies, from its start.
 */
export function millisecondsLeft(
  { expected, replayed, perSecond }: Progress,
  rate: number | undefined,
): number {
  const left = Math.max(0, expected - replayed)
  const perSecondNow = rate !== undefined && rate > 0 ? rate : perSecond
  return (left / perSecondNow) * 1_000
}

/** The result of a replay that has ended, in a sentence. */
export function resultOf({ state, expected, replayed, createdAt, endedAt }: Progress): string {
  const took = formatDuration(Math.max(0, Date.parse(endedAt ?? createdAt) - Date.parse(createdAt)))
  if (state === 'cancelled') return words.cancelled(replayed, Math.max(0, expected - replayed))
  const missed = Math.max(0, expected - replayed)
  return missed === 0 ? words.done(replayed, took) : words.doneExcept(replayed, took, missed)
}
