import type { RelatedType } from '../events.ts'
import type { Random } from '../random.ts'
import { type BadDelivery, deliver, restart, type Schedule, type Step, settle } from './steps.ts'

/* The faults that production causes: retries, races, crashes, reordering, forgeries. */

export interface Possible {
  readonly random: Random
  /** The prover starts the receiver, so it may kill it. */
  readonly mayKill: boolean
  /** The prover sees the rows of the receiver. */
  readonly hasRows: boolean
  /** The prover may move the dates of rows. */
  readonly mayAgeRows: boolean
  /** The boundaries that one delivery passed. */
  readonly boundaries: readonly string[]
  /** The type of a second event of the same object. */
  readonly related: RelatedType | undefined
  /** The number of random schedules, and of rounds of copies. */
  readonly rounds: number
}

/** The limit on boundaries. If there are more, the seed chooses among them. */
const MAX_KILLS = 24

const one = (name: string, title: string, ...variants: (readonly Step[])[]): Schedule => ({
  name,
  title,
  events: 1,
  variants,
})

const untried = (name: string, title: string, reason: string): Schedule => ({ ...one(name, title), reason })

const AFTER_RESTART = 'A copy arrives after a restart'

/** Longer than a day, because many receivers keep ids for one day. */
const LATER_MS = 25 * 3_600_000

export function schedulesFor(possible: Possible): Schedule[] {
  const { random, mayKill, rounds } = possible
  const copies = 8
  return [
    one('same-again', 'The provider sends the same event again', [
      deliver(),
      settle,
      deliver(),
      settle,
      deliver(),
    ]),
    one(
      'copies-at-once',
      'Copies of one event arrive at the same time',
      ...Array.from({ length: rounds }, (_, round): Step[] =>
        round % 2 === 0
          ? [deliver(0, copies)]
          : [{ kind: 'slow-calls', ms: 50 + random.whole(150) }, deliver(0, copies)],
      ),
    ),
    one(
      'lost-reply',
      'The reply is lost, and the provider sends the event again',
      [{ kind: 'lose-reply', event: 0, afterMs: 0 }, settle, deliver()],
      [{ kind: 'lose-reply', event: 0, afterMs: random.whole(40) }, deliver()],
    ),
    mayKill
      ? one('after-restart', AFTER_RESTART, [deliver(), settle, restart, deliver()])
      : untried('after-restart', AFTER_RESTART, 'pass --start, so that the receiver can be restarted'),
    hoursLaterByClock(possible),
    hoursLaterByRows(possible),
    pair('older-after-newer', 'An older version arrives after a newer one'),
    bothOrders(possible),
    ...BAD_TITLES.map(([what, title]) => one(what, title, [{ kind: 'bad', what }, deliver()])),
    one('unusual-bytes', 'A genuine delivery is formatted in an unusual way', [{ kind: 'unusual-bytes' }]),
    ...kills(possible),
    one(
      'mixed',
      'Several of these faults happen to one event',
      ...Array.from({ length: rounds }, () => mixed(possible)),
    ),
  ]
}

function hoursLaterByClock({ mayKill }: Possible): Schedule {
  const [name, title] = ['hours-later-clock', 'An old copy arrives when the clock is 25 h ahead'] as const
  if (!mayKill) return untried(name, title, 'pass --start, so that the clock of the receiver can be moved')
  return one(name, title, [deliver(), settle, { kind: 'clock-ahead', ms: LATER_MS }, deliver()])
}

function hoursLaterByRows({ hasRows, mayAgeRows }: Possible): Schedule {
  const [name, title] = ['hours-later-rows', 'An old copy arrives when its rows are 25 h older'] as const
  if (!hasRows || !mayAgeRows)
    return untried(
      name,
      title,
      `pass --age-rows${hasRows ? '' : ' and --database'}, so that dates in rows of test events can be moved`,
    )
  return one(name, title, [deliver(), settle, { kind: 'age-rows', ms: LATER_MS }, deliver()])
}

function bothOrders({ related }: Possible): Schedule {
  const name = 'both-orders'
  if (related === undefined)
    return untried(
      name,
      'Two related events arrive in either order',
      'name the type of a later event of the same object with --related',
    )
  const choice = related.isDefault ? ', chosen without --related,' : ''
  return { ...pair(name, `A related ${related.type}${choice} arrives first`), related }
}

function pair(name: string, title: string): Schedule {
  return { name, title, events: 2, variants: [[deliver(1), settle, deliver(0)]] }
}

/**
 * The order in which the events of a pair happened. The reverse order must have the same result.
 */
export const IN_ORDER: readonly Step[] = [deliver(0), settle, deliver(1)]

const BAD_TITLES: readonly (readonly [BadDelivery, string])[] = [
  ['forged', 'A stranger sends an event with a forged signature'],
  ['unsigned', 'A stranger sends an event without a signature'],
  ['tampered', 'A stranger changes a signed event'],
  ['rewritten', 'A proxy serialises the signed JSON again'],
  ['outdated', 'A stranger sends an old signed event'],
]

function kills(possible: Possible): Schedule[] {
  const title = 'The receiver dies at a boundary of its work'
  if (!possible.mayKill) return [untried('kill', title, 'pass --start, so that the receiver can be killed')]
  const all = killPoints(possible)
  const points = new Set(drawn(all, possible.random))
  if (all.length === 0)
    return [
      untried(
        'kill',
        title,
        'no call and no commit was seen; pass --downstream, or --database with --database-env',
      ),
    ]
  return all.map((at) => {
    const [name, death] = [`kill ${at}`, `The receiver dies ${at}`]
    if (points.has(at)) return one(name, death, [{ kind: 'kill', event: 0, at }])
    return untried(name, death, `a run tries at most ${MAX_KILLS} boundaries; another --seed chooses others`)
  })
}

function killPoints({ mayKill, boundaries }: Possible): readonly string[] {
  return mayKill ? [...new Set(boundaries)] : []
}

/** At most this many boundaries, in their order. Frequent boundaries are dropped first. */
function drawn(points: readonly string[], random: Random): string[] {
  const left = [...points]
  while (left.length > MAX_KILLS) {
    const repeated = left.filter((point) => / \(\d+\)$/.test(point))
    const from = repeated.length > 0 ? repeated : left
    left.splice(left.indexOf(from[random.whole(from.length)] ?? ''), 1)
  }
  return left
}

function mixed(possible: Possible): Step[] {
  const { random } = possible
  const points = killPoints(possible)
  const kinds = possible.mayKill ? 5 : 3
  const steps = Array.from({ length: 2 + random.whole(3) }, (): Step => {
    const at = points[random.whole(Math.max(1, points.length))]
    switch (random.whole(kinds)) {
      case 0:
        return deliver(0, 1 + random.whole(4))
      case 1:
        return { kind: 'lose-reply', event: 0, afterMs: random.whole(30) }
      case 2:
        return settle
      case 3:
        return restart
      default:
        return at === undefined ? restart : { kind: 'kill', event: 0, at }
    }
  })
  // The provider retries until the event is accepted.
  return [...steps, deliver()]
}
