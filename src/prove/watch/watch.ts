import { setTimeout as sleep } from 'node:timers/promises'
import type { Change } from '../changes.ts'
import { aliasesOf, type ProvedEvent } from '../events.ts'
import type { History, PastPlay } from '../late.ts'
import type { Boundaries } from './boundaries.ts'
import type { CallRecorder } from './calls.ts'
import type { RowWatcher } from './rows.ts'

/* All observations of a receiver from outside, as one list of changes. */

export interface Watchers {
  readonly rows: RowWatcher | undefined
  readonly calls: CallRecorder | undefined
  readonly boundaries: Boundaries
  readonly history: History
}

export interface Patience {
  /** The quiet time before the outcome is compared. */
  quietMs: number
  /** How long to wait for a missing effect. */
  readonly patienceMs: number
}

/** The effects of the events of one schedule, from `watch` on. */
export interface Watch {
  /** Waits until nothing changes any more, and longer while `isMissing` returns true. */
  settled(isMissing?: (changes: readonly Change[]) => boolean): Promise<Change[]>
  /** Moves the dates of the inserted rows back. Returns the reason if that is not possible. */
  ageRows(ms: number): Promise<string | undefined>
  /** Ends the watch: later changes count as late. */
  end(changes: readonly Change[]): PastPlay
  /** The time from the beginning to the last observed change. */
  readonly lagMs: number
}

type Late = ReturnType<History['split']>['late']

const POLL_MS = 60

export async function watch(
  { rows, calls, history }: Watchers,
  patience: Patience,
  events: readonly ProvedEvent[],
): Promise<Watch> {
  const aliases = [...aliasesOf(events), ...history.aliases()]
  await rows?.begin()
  calls?.begin()
  const startedAt = Date.now()
  let lagMs = 0
  let last = ''
  let late: Late = []

  const look = async () =>
    history.split([...((await rows?.changes(aliases)) ?? []), ...(calls?.changes(aliases) ?? [])])

  async function settled(isMissing: (changes: readonly Change[]) => boolean): Promise<Change[]> {
    const deadline = Date.now() + patience.patienceMs
    let changedAt = Date.now()
    for (;;) {
      const seen = await look()
      const changes = seen.own
      late = seen.late
      const now = Date.now()
      const text = JSON.stringify(seen)
      if (text !== last) {
        last = text
        changedAt = now
        if (changes.length > 0) lagMs = now - startedAt
      }
      const isQuiet = now - changedAt >= patience.quietMs
      if (isQuiet && (now >= deadline || !isMissing(changes))) return changes
      // A receiver that never becomes quiet is compared in its present state.
      if (now >= deadline + patience.patienceMs) return changes
      await sleep(POLL_MS)
    }
  }

  return {
    end(changes) {
      history.record(late)
      return history.add({ events, changes })
    },
    get lagMs() {
      return lagMs
    },
    settled: (isMissing = () => false) => settled(isMissing),
    async ageRows(ms) {
      const before = JSON.stringify(await settled(() => false))
      const fault = await rows?.age(ms, aliases)
      if (fault !== undefined) return fault
      const after = JSON.stringify(await settled(() => false))
      return before === after ? undefined : 'moving the dates changed other values too; look for triggers'
    },
  }
}
