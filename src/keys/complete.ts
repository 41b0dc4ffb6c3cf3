import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import { limitedWarning } from '../observe/limited-warning.ts'
import { harmless } from './events.ts'
import { readPledge } from './pledge.ts'
import type { DuePledge, KeyId, KeyPledges, KeyStore } from './store.ts'

/*
 * The completer: ends what a client began and did not come back for. It acts as that client would,
 * with the same key, so that whatever keeps two clients apart keeps the completer apart from them
 * too. What has become of a key is said by its record alone; a pledge only says where to look.
 */

/** What a completer can end: a `resumable()`, or `requestsTo()` a server. */
export interface Completable {
  readonly store: KeyStore
  /** The name of its pledges. */
  readonly taskName: string
  /**
   * Once more, with the key that the pledge says, if its record is still there: else PLEDGE_GONE.
   */
  resume(pledge: DuePledge): Promise<unknown>
}

export type CompleterEvent =
  /** `completed`: by this completer. `settled`: it was already, or nothing is left of it. */
  | { readonly what: 'completed' | 'settled'; readonly task: string; readonly id: KeyId }
  /**
   * `postponed`: it will be tried again. `gave_up`: it has been tried for as long as a record
   * lives.
   */
  | {
      readonly what: 'postponed' | 'gave_up'
      readonly task: string
      readonly id: KeyId
      readonly error: unknown
    }
  /** The store did not answer; the next round asks again. */
  | { readonly what: 'store_down'; readonly task: string; readonly error: unknown }

const optionsSchema = strict({
  /** How many are run at the same time. */
  concurrency: z.int().positive().max(1000).default(4),
  observe: z
    .custom<(event: CompleterEvent) => void>((value) => typeof value === 'function', 'must be a function')
    .default(() => warn),
})
export type CompleteOptions = z.input<typeof optionsSchema>

/**
 * One round: everything that is due now is tried once. Says how many it completed. For cron jobs;
 * else see `startCompleter`.
 */
export async function completeLeft(
  tasks: readonly Completable[],
  options: CompleteOptions = {},
): Promise<number> {
  const checked = check(optionsSchema, options, 'completeLeft()')
  for (const task of tasks) pledgesOf(task)
  return round(tasks, checked, () => false)
}

const completerSchema = optionsSchema.extend({
  /** Between rounds. */
  everyMs: z
    .int()
    .min(10)
    .max(2 ** 31 - 1)
    .default(30 * SECOND_MS),
})
export type CompleterOptions = z.input<typeof completerSchema>

/**
 * Rounds until it is stopped; stopping waits for what is being run. Any number of processes may
 * have one.
 */
export function startCompleter(
  tasks: readonly Completable[],
  options: CompleterOptions = {},
): { stop(): Promise<void> } {
  const { everyMs, ...checked } = check(completerSchema, options, 'startCompleter()')
  for (const task of tasks) pledgesOf(task)
  let stopped = false
  let wake = (): void => undefined
  const rounds = (async () => {
    while (!stopped) {
      await round(tasks, checked, () => stopped)
      if (stopped) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  })()
  return {
    stop() {
      stopped = true
      wake()
      return rounds
    },
  }
}

/**
 * A completer that dies leaves its pledges to others for as long; one that runs longer is kept
 * apart by the key's lock.
 */
const LEASE_MS = MINUTE_MS

async function round(
  tasks: readonly Completable[],
  { concurrency, ...options }: z.output<typeof optionsSchema>,
  isStopped: () => boolean,
): Promise<number> {
  const observe = harmless(options.observe)
  let completed = 0
  for (const task of tasks) {
    for (let more = true; more && !isStopped(); ) {
      const events = await some(task, concurrency)
      for (const event of events) observe(event)
      completed += events.filter(({ what }) => what === 'completed').length
      more = events.length === concurrency && events.every(({ what }) => what !== 'store_down')
    }
  }
  return completed
}

/** What a store that is down leaves undone is due again when its lease has run out. */
async function some(task: Completable, limit: number): Promise<readonly CompleterEvent[]> {
  const down = (error: unknown): CompleterEvent => ({ what: 'store_down', task: task.taskName, error })
  try {
    const due = await pledgesOf(task).due(task.taskName, limit, LEASE_MS)
    return await Promise.all(due.map((pledge) => end(task, pledge).catch(down)))
  } catch (error) {
    return [down(error)]
  }
}

async function end(task: Completable, pledge: DuePledge): Promise<CompleterEvent> {
  const { store, taskName } = task
  const { id, bytes } = pledge
  const pledges = pledgesOf(task)
  if (!(await isOpen(store, id))) {
    await pledges.drop(id, taskName)
    return { what: 'settled', task: taskName, id }
  }
  let error: unknown = new Error('it was run, and did not complete')
  try {
    await task.resume(pledge)
  } catch (thrown) {
    error = thrown
  }
  if (!(await isOpen(store, id))) {
    await pledges.drop(id, taskName)
    const gone = error instanceof HookonceError && error.code === 'PLEDGE_GONE'
    return { what: gone ? 'settled' : 'completed', task: taskName, id }
  }
  const { madeAt, ttlMs } = readPledge(bytes)
  const ageMs = Math.max(Date.now() - madeAt, 0)
  if (ageMs > ttlMs) {
    await pledges.drop(id, taskName)
    return { what: 'gave_up', task: taskName, id, error }
  }
  // As long again as it has waited so far.
  const dueMs = Math.min(Math.max(ageMs, SECOND_MS), HOUR_MS)
  await pledges.save(id, { name: taskName, bytes }, { dueMs, ttlMs })
  return { what: 'postponed', task: taskName, id, error }
}

/** Whether somebody may still run it, or is running it. */
async function isOpen(store: KeyStore, id: KeyId): Promise<boolean> {
  const record = await store.read(id)
  return record?.state === 'locked' || record?.state === 'released'
}

function pledgesOf({ store, taskName }: Completable): KeyPledges {
  if (store.pledges) return store.pledges
  throw new HookonceError('CONFIG_INVALID', `"${taskName}": its store keeps no pledges`)
}

/** Where nobody listens, a failure must still be seen. */
function warn(event: CompleterEvent): void {
  if ('error' in event)
    limitedWarning(
      `completer ${event.task} ${event.what}`,
      `hookonce: completer: ${event.task}: ${event.what}: ${String(event.error)}`,
    )
}
