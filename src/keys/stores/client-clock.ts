import { z } from 'zod'
import { MINUTE_MS, SECOND_MS } from '../../model/durations.ts'
import type { AcquireRequest } from '../decide.ts'

/*
 * For stores whose server cannot read its clock inside the atomic step. Times come from the
 * clients, whose clocks differ. A lock is taken over only when it has expired on every clock.
 */

export const clientClock = {
  /** Machines that keep time by NTP differ by far less than a second. */
  skewMs: z.int().nonnegative().max(MINUTE_MS).default(SECOND_MS),
  /** Milliseconds since 1970. */
  now: z
    .custom<() => number>((value) => typeof value === 'function', 'must be a function')
    .default(() => Date.now),
}

/**
 * A record must outlive its lock by the skew. Otherwise a clock that runs ahead would treat a live
 * record as expired.
 */
export function unexpiredLock<Request extends Pick<AcquireRequest, 'ttlMs'>>(
  request: Request,
  skew: number,
): Request {
  return { ...request, ttlMs: Math.max(request.ttlMs, skew) }
}
