import type { Alias, Change } from './changes.ts'
import { aliasesOf, type ProvedEvent } from './events.ts'

/*
 * Effects after the end of their schedule, such as the second call of a worker that took over. They
 * contain the ids of an earlier event, so they are assigned to the schedule of that event and not
 * to the running one.
 */

/** A play that has ended. */
export interface PastPlay {
  readonly events: readonly ProvedEvent[]
  /** All calls, including calls that repeat a key. */
  readonly changes: readonly Change[]
  readonly late: Change[]
}

export interface History {
  /** The names of the ids of all earlier events. */
  aliases(): Alias[]
  /** The changes of the current play, and those of earlier ones. */
  split(changes: readonly Change[]): { own: Change[]; late: LateChange[] }
  add(play: Omit<PastPlay, 'late'>): PastPlay
  record(late: readonly LateChange[]): void
}

interface LateChange {
  readonly play: number
  readonly change: Change
}

/** Enough for every run. Older plays are no longer checked. */
const MAX_PLAYS = 300

export function startHistory(): History {
  const plays: PastPlay[] = []
  return {
    aliases: () =>
      plays.flatMap(({ events }, number) =>
        number < plays.length - MAX_PLAYS
          ? []
          : idsOf(events).map(([text, name]): Alias => [text, marked(number, name)]),
      ),
    split(changes) {
      const own: Change[] = []
      const late: LateChange[] = []
      for (const change of changes) {
        const play = playOf(change)
        if (play === undefined) own.push(change)
        else late.push({ play, change: withoutMarks(change) })
      }
      return { own, late }
    },
    add(play) {
      const past = { ...play, late: [] }
      plays.push(past)
      return past
    },
    record(late) {
      for (const { play, change } of late) plays[play]?.late.push(change)
    },
  }
}

/** Events share dates, so only ids distinguish them. */
function idsOf(events: readonly ProvedEvent[]): Alias[] {
  return aliasesOf(events).filter(([, name]) => !name.includes('date'))
}

const MARK = /§(\d+)§/g

function marked(number: number, name: string): string {
  return `§${number}§${name}`
}

function playOf({ where, fields }: Change): number | undefined {
  const [, number] = /§(\d+)§/.exec([where, ...Object.values(fields)].join(' ')) ?? []
  return number === undefined ? undefined : Number(number)
}

function withoutMarks({ where, fields, ...rest }: Change): Change {
  const plain = Object.entries(fields).map(([name, value]) => [name, value.replaceAll(MARK, '')])
  return { ...rest, where: where.replaceAll(MARK, ''), fields: Object.fromEntries(plain) }
}
