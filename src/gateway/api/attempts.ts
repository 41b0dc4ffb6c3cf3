import { isIPv6 } from 'node:net'
import { HookonceError } from '../../model/errors.ts'

/*
 * Limits how often an address may present a wrong token or session. 256 random bits cannot be
 * guessed anyway; the limit protects the ledger from endless lookups by strangers.
 */

export interface Attempts {
  /** Throws TOO_MANY_ATTEMPTS if the address has recently failed too often. */
  check(address: string): void
  failed(address: string): void
}

const MAX_FAILURES = 10
const WINDOW_MS = 60_000
/** Addresses in memory. A new one replaces the oldest. */
const MAX_ADDRESSES = 1_000

export function attempts(nowMs: () => number = () => performance.now()): Attempts {
  const failures = new Map<string, { count: number; readonly until: number }>()
  return {
    check(address) {
      const known = failures.get(networkOf(address))
      if (!known || known.until <= nowMs() || known.count < MAX_FAILURES) return
      const seconds = Math.ceil((known.until - nowMs()) / 1_000)
      throw new TooManyAttempts(seconds)
    },
    failed(address) {
      const network = networkOf(address)
      const known = failures.get(network)
      if (known && known.until > nowMs()) {
        known.count += 1
        return
      }
      failures.delete(network)
      const [oldest] = failures.keys()
      if (failures.size >= MAX_ADDRESSES && oldest !== undefined) failures.delete(oldest)
      failures.set(network, { count: 1, until: nowMs() + WINDOW_MS })
    },
  }
}

export class TooManyAttempts extends HookonceError {
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number) {
    super('TOO_MANY_ATTEMPTS', `${MAX_FAILURES} requests with a wrong token; wait ${retryAfterSeconds} s`)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The owner of one IPv6 address has 2^64 of them. */
function networkOf(address: string): string {
  return isIPv6(address) ? address.split(':').slice(0, 4).join(':') : address
}
