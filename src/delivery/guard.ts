import { type AddressSet, addressSet, clientAddress } from '../http/addresses.ts'
import type { ErrorCode } from '../model/errors.ts'
import type { NamedSource } from '../sources/contract.ts'
import type { Head } from './request.ts'

/** The conditions of a source on its deliveries, besides the signature. */
export interface Guard {
  /** Refuses by address, and while the rate is exhausted. Runs before the body is read. */
  admit(head: Head): GuardRefusal | undefined
  /**
   * Counts a genuine delivery, or refuses it. Forged deliveries do not count, so a stranger cannot
   * use up the rate of a provider.
   */
  count(): GuardRefusal | undefined
  /** Undefined: the limit for all sources. */
  readonly maxBodyBytes: number | undefined
}

interface GuardRefusal {
  readonly code: Extract<ErrorCode, 'ADDRESS_NOT_ALLOWED' | 'RATE_LIMITED'>
  readonly detail: string
  readonly retryAfterSeconds?: number
}

/** A source, with its guard if it has one. */
export interface GuardedSource extends NamedSource {
  readonly guard?: Guard | undefined
}

/** The limits of one source. */
export interface GuardOptions {
  readonly allow?: readonly string[] | undefined
  readonly ratePerSecond?: number | undefined
  readonly maxBodyBytes?: number | undefined
}

export function guardOf(
  { allow, ratePerSecond, maxBodyBytes }: GuardOptions,
  isTrustedProxy: AddressSet,
): Guard {
  const isAllowed = allow && addressSet(allow)
  const rate = ratePerSecond === undefined ? undefined : tokenBucket(ratePerSecond)

  function tooFast(waitMs: number): GuardRefusal {
    return {
      code: 'RATE_LIMITED',
      detail: `more than ${ratePerSecond} deliveries per second`,
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    }
  }

  return {
    admit(head) {
      if (isAllowed) {
        const address = clientAddress(head.peerAddress(), head.header('x-forwarded-for'), isTrustedProxy)
        // Without an address, hookonce cannot check whether the sender is allowed.
        if (address === undefined || !isAllowed(address))
          return {
            code: 'ADDRESS_NOT_ALLOWED',
            detail: `the address of the sender is ${address ?? 'unknown'}`,
          }
      }
      const waitMs = rate?.waitMs() ?? 0
      return waitMs > 0 ? tooFast(waitMs) : undefined
    },
    count() {
      if (rate === undefined || rate.take()) return undefined
      return tooFast(rate.waitMs())
    },
    maxBodyBytes,
  }
}

/** A token bucket: this many per second, and as many at once. */
function tokenBucket(perSecond: number) {
  const capacity = Math.max(1, perSecond)
  let tokens = capacity
  let countedAtMs = performance.now()

  function refill(): void {
    const nowMs = performance.now()
    tokens = Math.min(capacity, tokens + ((nowMs - countedAtMs) / 1_000) * perSecond)
    countedAtMs = nowMs
  }

  return {
    take(): boolean {
      refill()
      if (tokens < 1) return false
      tokens -= 1
      return true
    },
    /** The time until the next token. 0: a token is available. */
    waitMs(): number {
      refill()
      return tokens >= 1 ? 0 : ((1 - tokens) / perSecond) * 1_000
    },
  }
}
