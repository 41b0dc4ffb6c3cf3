import { randomInt } from 'node:crypto'
import { HookonceError } from '../model/errors.ts'
import type { Sources } from '../options.ts'
import type { PermutationOptions, Permutations, ScheduledEvent, TestHooks } from './contract.ts'
import type { DeliverOptions } from './deliver.ts'
import { allSchedules, type Schedule, sampledSchedules, shrunk } from './schedules.ts'
import { differences, type Snapshot, snapshotOf } from './snapshot.ts'

interface PermutationKit<S extends Sources> {
  readonly open: () => Promise<TestHooks<S>>
  readonly restore: () => Promise<void>
}

const DEFAULT_LIMIT = 50
const MAX_SEED = 2 ** 31 - 1

export function permutations<S extends Sources>({ open, restore }: PermutationKit<S>): Permutations<S> {
  return async (events, options = {}) => {
    const { maxTimes = 2, limit = DEFAULT_LIMIT, seed = randomInt(1, MAX_SEED) } = options
    requireEvents(events)
    const fixed = events.map((event, index) => ({
      ...event,
      key: event.key ?? `evt_permuted_${index + 1}`,
      objectId: event.objectId ?? 'obj_permuted',
      occurredAt: event.occurredAt ?? new Date(Date.now() - (events.length - index) * 1_000),
    }))
    const every = allSchedules(events.length, maxTimes, limit)
    const schedules = every ?? sampledSchedules(events.length, maxTimes, { count: limit, seed })
    const known = new Map<string, Promise<Snapshot>>()
    const run = (schedule: Schedule): Promise<Snapshot> => {
      const id = schedule.join()
      const before = known.get(id)
      if (before) return before
      const result = rowsAfter(open, fixed, schedule, options)
      known.set(id, result)
      return result
    }
    /**
     * Undefined: the schedule leads to the same rows as delivering each event once, in the given
     * order.
     */
    const faultOf = async (schedule: Schedule): Promise<string | undefined> => {
      const plain = [...new Set(schedule)].sort((a, b) => a - b)
      return differences(await run(plain), await run(schedule))
    }
    try {
      for (const [index, schedule] of schedules.entries()) {
        if ((await faultOf(schedule)) === undefined) continue
        const shortest = await shrunk(schedule, async (shorter) => (await faultOf(shorter)) !== undefined)
        throw diverged(fixed, {
          schedule: shortest,
          from: schedule.length,
          tried: index + 1,
          seed: every ? undefined : seed,
          difference: (await faultOf(shortest)) ?? '',
        })
      }
    } finally {
      await restore()
    }
    return { tried: schedules.length, isExhaustive: every !== undefined, seed }
  }
}

type FixedEvent<S extends Sources> = ScheduledEvent<S> &
  Required<Pick<DeliverOptions, 'key' | 'objectId' | 'occurredAt'>>

async function rowsAfter<S extends Sources>(
  open: () => Promise<TestHooks<S>>,
  events: readonly FixedEvent<S>[],
  schedule: Schedule,
  options: PermutationOptions<S>,
): Promise<Snapshot> {
  const t = await open()
  try {
    for (const index of schedule) {
      const event = events[index]
      if (!event) continue
      const { source, type, overrides = {}, key, objectId, occurredAt } = event
      await t.deliver(source, type, overrides, { key, objectId, occurredAt })
      await t.settled()
    }
    return await snapshotOf(t.pool, options, await options.observe?.(t))
  } finally {
    await t.close()
  }
}

function requireEvents(events: readonly unknown[]): void {
  if (events.length >= 1) return
  throw new HookonceError('CONFIG_INVALID', 'permutations(): pass at least one event')
}

interface Divergence {
  readonly schedule: Schedule
  readonly from: number
  readonly tried: number
  readonly seed: number | undefined
  readonly difference: string
}

function diverged<S extends Sources>(
  events: readonly FixedEvent<S>[],
  { schedule, from, tried, seed, difference }: Divergence,
): HookonceError {
  const line = (index: number): string => {
    const event = events[index]
    return `    ${event?.source} ${event?.type} (event ${index + 1} of the list)`
  }
  const shorter = from > schedule.length ? `, shrunk from ${from} deliveries` : ''
  const sample = seed === undefined ? '' : `, seed ${seed}`
  const text = [
    `this schedule leads to other rows than delivering each event once, in the given order (schedule ${tried}${shorter}${sample}):`,
    ...schedule.map(line),
    difference,
  ]
  return new HookonceError('TEST_DIVERGED', text.join('\n'))
}
