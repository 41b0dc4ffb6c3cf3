import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'
import { limitedWarning } from '../observe/limited-warning.ts'
import { harmless } from './events.ts'
import { readPledge } from './pledge.ts'
import type { DuePledge, KeyId, KeyPledges, KeyStore } from './store.ts'

/*
 * The completer finishes tasks that a client began and never retried. It acts like that client,
 * with the same key, so the same locks keep both apart. Only the record shows what happened to a
 * key. A pledge is just a hint where to look.
 */

/** A task that a completer can finish: a `resumable()`, or `requestsTo()` a server. */
export interface Completable {
  readonly store: KeyStore
  /** The name under which its pledges are stored. */
  readonly taskName: string
  /**
   * Runs the task again with the key of the pledge. Throws PLEDGE_GONE if the record has expired.
   */
  resume(pledge: DuePledge): Promise<unknown>
}

export type CompleterEvent =
  /**
   * `completed`: this completer finished it. `settled`: it was already settled, or its record has
   * expired.
   */
  | { readonly what: 'completed' | 'settled'; readonly task: string; readonly id: KeyId }
  /** `postponed`: will be retried. `gave_up`: was retried for the whole lifetime of a record. */
  | {
      readonly what: 'postponed' | 'gave_up'
      readonly task: string
      readonly id: KeyId
      readonly error: unknown
    }
  /** The store did not answer. The next round tries again. */
  | { readonly what: 'store_down'; readonly task: string; readonly error: unknown }

const optionsSchema = strict({
  concurrency: z.int().positive().max(1000).default(4).describe('how many tasks run at the same time'),
  observe: z
    .custom<(event: CompleterEvent) => void>((value) => typeof value === 'function', 'must be a function')
    .default(() => warn)
    .meta({
      description: 'receives `completed`, `settled` (it already was), `postponed`, `gave_up`, `store_down`',
      defaultsTo: 'logs a warning',
    }),
})
export type CompleteOptions = z.input<typeof optionsSchema>

/**
 * Runs one round: tries every due task once and returns how many completed. Use it in cron jobs.
 * For a background loop, use `startCompleter`.
 */
export async function completeLeft(
  tasks: readonly Completable[],
  options: CompleteOptions = {},
): Promise<number> {
  const checked = check(optionsSchema, options, 'completeLeft()')
  for (const task of tasks) pledgesOf(task)
  return round(tasks, checked, () => false)
}

export const completerSchema = optionsSchema.extend({
  everyMs: z
    .int()
    .min(10)
    .max(2 ** 31 - 1)
    .default(30 * SECOND_MS)
    .describe('the pause between rounds'),
})
export type CompleterOptions = z.input<typeof completerSchema>

/**
 * Runs rounds until it is stopped. `stop()` waits for running tasks. Any number of processes may
 * run a completer.
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
 * When a completer dies, others receive its pledges after this time. If a task runs longer, the
 * key's lock still prevents a second run.
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

/**
 * If the store is down, the pledges that were leased here are due again when their lease expires.
 */
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
  let error: unknown = new Error('the task ran and did not complete')
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
  // Waits as long as the pledge is old, so the delay doubles with each retry.
  const dueMs = Math.min(Math.max(ageMs, SECOND_MS), HOUR_MS)
  await pledges.save(id, { name: taskName, bytes }, { dueMs, ttlMs })
  return { what: 'postponed', task: taskName, id, error }
}

/** Whether the task is running, or may still run. */
async function isOpen(store: KeyStore, id: KeyId): Promise<boolean> {
  const record = await store.read(id)
  return record?.state === 'locked' || record?.state === 'released'
}

function pledgesOf({ store, taskName }: Completable): KeyPledges {
  if (store.pledges) return store.pledges
  throw new HookonceError(
    'CONFIG_INVALID',
    `the store of "${taskName}" has no pledges: use postgresKeys(), redisKeys() or memoryKeys()`,
  )
}

/** Without an observer, a failure must still be visible. */
function warn(event: CompleterEvent): void {
  if ('error' in event)
    limitedWarning(
      `completer ${event.task} ${event.what}`,
      `hookonce: completer: ${event.task}: ${event.what}: ${String(event.error)}`,
    )
}
