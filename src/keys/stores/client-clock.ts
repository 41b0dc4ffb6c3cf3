import { z } from 'zod'
import { MINUTE_MS, SECOND_MS } from '../../model/durations.ts'
import type { AcquireRequest } from '../decide.ts'

/*
 * For stores whose server does not say what time it is inside its atomic step: times are those of their clients, whose
 * clocks differ. Nobody takes over a lock that another clock may still call live.
 */

export const clientClock = {
  /** A second is far more than machines differ that keep their time by NTP. */
  skewMs: z.int().nonnegative().max(MINUTE_MS).default(SECOND_MS),
  /** Milliseconds since 1970. */
  now: z
    .custom<() => number>((value) => typeof value === 'function', 'must be a function')
    .default(() => Date.now),
}

/** A record must outlive its lock by the skew: else a clock that is ahead would call a live one expired. */
export function unexpiredLock<Request extends Pick<AcquireRequest, 'ttlMs'>>(
  request: Request,
  skew: number,
): Request {
  return { ...request, ttlMs: Math.max(request.ttlMs, skew) }
}
