import type { Pool } from 'pg'
import { giveBackTokens, takeTokens } from '../ledger/jobs/limiters.ts'
import type { Bell } from '../work/bell.ts'
import type { Shares, Slots } from '../work/slots.ts'
import type { Subscriber } from './subscriber.ts'
import { turns } from './turns.ts'

/**
 * Keeps claims within the rates of their subscribers, over all processes: each run needs a token
 * from the ledger. A round of claims takes tokens as needed, and returns the unused ones at its
 * end. If the process dies meanwhile, its tokens are lost, and the rate refills with time.
 */
export interface Rates {
  /** Whether there may be a token for the subscriber. */
  hasTokens(subscriber: number): boolean
  /**
   * Takes a token for each slot. Returns the slots without a token. `rivals` are all subscribers
   * with due work: if tokens are scarce, each rival is left one.
   */
  trim(shares: Shares<number>, rivals: readonly number[]): Promise<Shares<number>>
  /** A claim for `shares` found these jobs. Tokens without a job are kept for the next claim. */
  claimed(shares: Shares<number>, jobs: readonly { readonly subscriber: number }[]): void
  /** The round is over. */
  giveBack(): Promise<void>
}

export interface RatesOptions {
  readonly pool: Pool
  readonly subscribers: ReadonlyMap<number, Subscriber>
  readonly slots: Slots<number>
  /** Rings when tokens are available again. */
  readonly nudge: Bell
}

/**
 * A claim for a single token costs as much as a claim for many, so at high rates tokens accumulate
 * for this long.
 */
const GATHER_MS = 20
/** A Node timer holds 31 bits. A slower rate is checked again at that time. */
const LONGEST_WAIT_MS = 60_000

export function rates({ pool, subscribers, slots, nudge }: RatesOptions): Rates {
  /** The unused tokens of this round, by limiter. */
  const inHand = new Map<number, number>()
  /** The time before which there are no tokens, by limiter. */
  const emptyUntil = new Map<number, number>()

  const fair = turns((subscriber) => subscribers.get(subscriber)?.tenant ?? '')
  /** Whether this round leaves tokens to rivals, and whether it has done so. */
  let isLeaving = true
  let hasLeft = false

  const hasRates = [...subscribers.values()].some(({ limiter }) => limiter?.rate)

  function limiterOf(subscriber: number): number | undefined {
    const limiter = subscribers.get(subscriber)?.limiter
    return limiter?.rate ? limiter.id : undefined
  }

  function hold(limiter: number, count: number): void {
    inHand.set(limiter, (inHand.get(limiter) ?? 0) + count)
  }

  function isEmpty(limiter: number): boolean {
    return (inHand.get(limiter) ?? 0) === 0 && performance.now() < (emptyUntil.get(limiter) ?? 0)
  }

  async function take(limiter: number, wanted: number): Promise<number> {
    const held = Math.min(wanted, inHand.get(limiter) ?? 0)
    hold(limiter, -held)
    if (held === wanted || performance.now() < (emptyUntil.get(limiter) ?? 0)) return held
    const { granted, nextMs } = await takeTokens(pool, limiter, wanted - held)
    if (held + granted < wanted) waitForTokens(limiter, nextMs)
    return held + granted
  }

  function waitForTokens(limiter: number, nextMs: number): void {
    const ms = Math.min(Math.max(nextMs, GATHER_MS), LONGEST_WAIT_MS)
    emptyUntil.set(limiter, performance.now() + ms)
    // Later than `emptyUntil`, at any resolution of the timer.
    setTimeout(() => nudge.ring(), Math.ceil(ms) + 1).unref()
  }

  function byLimiter(shares: Shares<number>): Map<number, Map<number, number>> {
    const found = new Map<number, Map<number, number>>()
    for (const [subscriber, count] of shares) {
      const limiter = limiterOf(subscriber)
      if (limiter === undefined) continue
      found.set(limiter, (found.get(limiter) ?? new Map()).set(subscriber, count))
    }
    return found
  }

  /**
   * Divides tokens between the wanted runs and their rivals. The share of the rivals is held for the
   * next claims of this round.
   */
  function divide(limiter: number, tokens: number, { wanted, rivals }: Division): Shares<number> {
    if (tokens === sum(wanted.values())) return wanted
    const others = rivals.filter((key) => isLeaving && !wanted.has(key) && limiterOf(key) === limiter)
    const given = fair.divide(tokens, new Map([...wanted, ...others.map((key) => [key, 1] as const)]))
    const left = sum(others.map((key) => given.get(key) ?? 0))
    if (left > 0) hasLeft = true
    hold(limiter, left)
    return given
  }

  return {
    hasTokens(subscriber) {
      const limiter = limiterOf(subscriber)
      return limiter === undefined || !isEmpty(limiter)
    },
    async trim(shares, rivals) {
      if (!hasRates) return shares
      const trimmed = new Map(shares)
      try {
        for (const [limiter, wanted] of byLimiter(shares)) {
          const tokens = await take(limiter, sum(wanted.values()))
          const given = divide(limiter, tokens, { wanted, rivals })
          for (const [subscriber, count] of wanted) {
            const left = given.get(subscriber) ?? 0
            slots.giveBack(subscriber, count - left)
            if (left === 0) trimmed.delete(subscriber)
            else trimmed.set(subscriber, left)
          }
        }
        return trimmed
      } catch (error) {
        for (const [subscriber, count] of trimmed) slots.giveBack(subscriber, count)
        throw error
      }
    },
    claimed(shares, jobs) {
      for (const [subscriber, count] of shares) {
        const limiter = limiterOf(subscriber)
        if (limiter === undefined) continue
        hold(limiter, count - jobs.filter((job) => job.subscriber === subscriber).length)
      }
      for (const { subscriber } of jobs) if (limiterOf(subscriber) !== undefined) fair.recordRun(subscriber)
    },
    async giveBack() {
      // A rival may have had no slot for its token. The next round then leaves no token. Otherwise
      // slots kept for one subscriber and tokens left to another could block both.
      isLeaving = !hasLeft
      hasLeft = false
      for (const [limiter, count] of inHand) {
        inHand.delete(limiter)
        if (count > 0) await giveBackTokens(pool, limiter, count)
      }
    },
  }
}

interface Division {
  /** Groups the shares by subscriber. */
  readonly wanted: Shares<number>
  readonly rivals: readonly number[]
}

function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}
