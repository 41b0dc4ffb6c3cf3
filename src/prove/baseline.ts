import { HookonceError } from '../model/errors.ts'
import { lineOf, maskOf } from './changes.ts'
import type { Expected } from './judge.ts'
import { freshEvents, type Play, play, type Stage } from './play.ts'
import { IN_ORDER } from './schedules/catalogue.ts'
import { deliver, type Schedule, type Step } from './schedules/steps.ts'
import { watch } from './watch/watch.ts'

/* The effects of one undisturbed delivery. All other plays are compared with them. */

export interface Baseline extends Expected {
  /** The boundaries that a delivery passes. */
  readonly boundaries: readonly string[]
}

export async function takeBaseline(stage: Stage): Promise<Baseline> {
  const idle = await refuseNoise(stage)
  const { quietMs } = stage.patience
  const warmUp = await once(stage, [deliver()], { events: 1 })
  // Late effects need longer quiet times. The first delivery may include a cold start.
  stage.patience.quietMs = quietFor(quietMs, warmUp)
  const one = await once(stage, [deliver()], { events: 1 })
  const two = await once(stage, [deliver()], { events: 1 })
  stage.patience.quietMs = Math.max(quietFor(quietMs, one), quietFor(quietMs, two))
  const expected = agreement(one, two)
  const canSee = stage.watchers.rows !== undefined || stage.watchers.calls !== undefined
  if (canSee && expected.changes.length === 0)
    throw new HookonceError(
      'CONFIG_INVALID',
      'the event was accepted, but it changed no row and made no call, so there is nothing to compare; pass the type that the receiver handles with --type, a recorded body with --event, or make the rows that it expects with --prepare',
    )
  // Changes that also happen without a delivery, or not at each one, come from a periodic task.
  const isOfDelivery = (boundary: string): boolean =>
    one.boundaries.includes(boundary) && !idle.has(unnumbered(boundary))
  return { ...expected, boundaries: two.boundaries.filter(isOfDelivery) }
}

/** Some effects take longer than others. */
function quietFor(leastMs: number, { lagMs }: Play): number {
  return Math.min(10_000, Math.max(leastMs, lagMs * 3))
}

/** The effect of an older and a newer event, in the order in which they happened. */
export async function takeOrderBaseline(stage: Stage, schedule: Schedule): Promise<Expected> {
  return agreement(await once(stage, IN_ORDER, schedule), await once(stage, IN_ORDER, schedule))
}

async function once(
  stage: Stage,
  steps: readonly Step[],
  schedule: Pick<Schedule, 'events' | 'related'>,
): Promise<Play> {
  const played = await play(stage, steps, freshEvents(stage, schedule), (changes) => changes.length === 0)
  if (played.refused === undefined) return played
  throw new HookonceError(
    'CONFIG_INVALID',
    `the receiver does not accept a genuine event: ${played.refused}; check --url, and that the receiver and --secret have the same secret`,
  )
}

function agreement(one: Play, two: Play): Expected {
  const mask = maskOf(one.changes, two.changes)
  const lines = ({ changes }: Play): string[] =>
    changes.map((change) => `${change.where}: ${lineOf(change, mask)}`)
  const [a, b] = [lines(one).sort(), lines(two).sort()]
  if (a.join('\n') !== b.join('\n'))
    throw new HookonceError(
      'CONFIG_INVALID',
      `two plain deliveries of fresh events had different effects, so nothing can be compared:\n  ${a.join('\n  ') || 'nothing'}\nand\n  ${b.join('\n  ') || 'nothing'}\npass --ignore for tables that do not matter, or a longer --quiet if effects come late`,
    )
  return { changes: two.changes, mask }
}

const IDLE_MS = 2_000

/** `after call POST /emails` also matches its second occurrence. */
function unnumbered(boundary: string): string {
  return boundary.replace(/ \(\d+\)$/, '')
}

/**
 * Refuses to start if another writer changes rows, because these changes would look like effects.
 * Returns the boundaries that an idle receiver passes.
 */
async function refuseNoise({ watchers, patience }: Stage): Promise<Set<string>> {
  watchers.boundaries.begin()
  // Long enough to notice heartbeats and tasks that run every second.
  const quietMs = Math.max(IDLE_MS, patience.quietMs)
  const idle = await watch(watchers, { quietMs, patienceMs: quietMs }, [])
  const changes = await idle.settled()
  if (changes.length === 0) return new Set(watchers.boundaries.reached.map(unnumbered))
  const places = [...new Set(changes.map(({ where }) => where))].join(', ')
  throw new HookonceError(
    'CONFIG_INVALID',
    `${places} changed although nothing was delivered; stop other programs that write there, or pass --ignore for tables of heartbeats and similar data`,
  )
}
