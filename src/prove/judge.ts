import { type Change, type Difference, differences, lineOf, type Mask, withoutRepeats } from './changes.ts'
import type { PastPlay } from './late.ts'
import type { Play } from './play.ts'

/** The kinds of faults, as the report names them. */
export const FAULTS = {
  doubled: 'the event took effect more than once',
  lost: 'the event took no effect, or only a part of it',
  different: 'the event took another effect than in the baseline',
  stale: 'an older event overwrote a newer one',
  'forged-accepted': 'a delivery that is not genuine was accepted',
  'genuine-refused': 'a genuine delivery was never accepted',
} as const

export type Fault = keyof typeof FAULTS

/** One fault, and its place. */
export interface Finding {
  readonly fault: Fault
  /** A table, a call, or the answer of the receiver. */
  readonly where: string
  readonly expected: readonly string[]
  readonly seen: readonly string[]
}

/** The effects of one delivery, on which two independent baselines agree. */
export interface Expected {
  readonly changes: readonly Change[]
  readonly mask: Mask
}

/** Compares a play of one event with the baseline. */
export function judge({ changes, mask }: Expected, played: Play): Finding[] {
  const direct = judgeAnswers(played)
  if (direct.length > 0) return direct
  return differences(changes, played.changes, mask).map(findingOf)
}

/** Compares again, with the changes that came after the end. Omits late updates of rows. */
export function judgeLate({ changes, mask }: Expected, { changes: seen, late }: PastPlay): Finding[] {
  const repeated = late.filter(({ kind }) => kind === 'called' || kind === 'inserted')
  if (repeated.length === 0) return []
  const all = withoutRepeats([...seen, ...repeated]).changes
  return differences(changes, all, mask)
    .filter(({ kind }) => kind === 'doubled')
    .map(findingOf)
}

function judgeAnswers({ refused, acceptedBad }: Play): Finding[] {
  if (acceptedBad !== undefined)
    return [
      {
        fault: 'forged-accepted',
        where: 'answer',
        expected: ['refused, without effect'],
        seen: [acceptedBad],
      },
    ]
  if (refused !== undefined)
    return [{ fault: 'genuine-refused', where: 'answer', expected: ['2xx'], seen: [refused] }]
  return []
}

function findingOf({ kind, where, expected, seen }: Difference): Finding {
  return { fault: kind, where, expected, seen }
}

/**
 * Compares the reverse order of two events with their order. A receiver may skip the older event,
 * so changes may be missing. The fault is a row that does not result from the right order.
 */
export function judgeOrder(inOrder: Expected, played: Play): Finding[] {
  const direct = judgeAnswers(played)
  if (direct.length > 0) return direct
  return differences(inOrder.changes, played.changes, inOrder.mask).flatMap((difference): Finding[] => {
    const { where, expected, seen } = difference
    if (holdsOneRowPerEvent(inOrder, where)) return []
    const extra = seen.filter((line) => !expected.includes(line))
    if (extra.length === 0) return seen.length > expected.length ? [findingOf(difference)] : []
    return [{ fault: 'stale', where, expected, seen }]
  })
}

/** A log of events may record a skipped event. */
function holdsOneRowPerEvent({ changes, mask }: Expected, where: string): boolean {
  const lines = changes.filter((change) => change.where === where).map((change) => lineOf(change, mask))
  return (
    ['<key of older>', '<key of newer>'].every((key) => lines.some((line) => line.includes(key))) &&
    !lines.some((line) => line.includes('<key of older>') && line.includes('<key of newer>'))
  )
}

/** Whether a missing effect may still happen. An extra effect is a fault at once. */
export function mayStillCome({ changes, mask }: Expected): (seen: readonly Change[]) => boolean {
  return (seen) => {
    const found = differences(changes, seen, mask)
    return found.length > 0 && found.every(({ kind }) => kind !== 'doubled')
  }
}
