import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { HookonceError } from '../model/errors.ts'
import { type Completable, type CompleterEvent, completeLeft, startCompleter } from './complete.ts'
import { keyId } from './identity.ts'
import { once } from './once.ts'
import { resumable } from './resumable.ts'
import type { KeyStore } from './store.ts'
import { memoryKeys } from './stores/memory.ts'

/*
 * The tests set the time instead of waiting. The memory store and the ages of pledges both use this
 * process's clock.
 */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})
const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms)

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const whose = { tenant: 'acme' }

/** Reports when a caller arrives, and blocks it until the gate is opened. */
function gate() {
  let open = (): void => undefined
  let arrive = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const reached = new Promise<void>((resolve) => {
    arrive = resolve
  })
  async function pass(): Promise<void> {
    arrive()
    await opened
  }
  return { reached, pass, open }
}

/** An order of two steps. `trouble` is thrown between them. */
function orders(store: KeyStore) {
  const did: string[] = []
  const trouble = { now: new Error('the mail server is down') as Error | undefined }
  const place = resumable(store, 'place-order', async ({ item }: { item: string }, { step }) => {
    const id = await step('charge', () => did.push(`charged for ${item}`))
    if (trouble.now) throw trouble.now
    await step('mail', () => did.push(`mailed about ${item}`))
    return { id }
  })
  const events: CompleterEvent[] = []
  const complete = () => completeLeft([place], { observe: (event) => events.push(event) })
  return { place, did, trouble, events, complete }
}

test('an abandoned task is completed without repeating a step, and a late retry gets its result', async () => {
  const { place, did, trouble, events, complete } = orders(memoryKeys())
  await expect(place('k', { item: 'tea' }, whose)).rejects.toThrow('mail server')
  trouble.now = undefined
  expect(await complete()).toBe(0)
  pass(5 * MINUTE)
  expect(await complete()).toBe(1)
  expect(events).toEqual([{ what: 'completed', task: 'place-order', id: keyId('acme', 'k') }])
  expect(did).toEqual(['charged for tea', 'mailed about tea'])
  expect(await place('k', { item: 'tea' }, whose)).toEqual({ id: 1 })
  pass(HOUR)
  expect(await complete()).toBe(0)
  expect(did).toHaveLength(2)
})

test('no pledge is made before the first step, and completion drops the pledge', async () => {
  const store = memoryKeys()
  const { place, trouble, events, complete } = orders(store)
  trouble.now = undefined
  await place('kept', { item: 'tea' }, whose)
  const refuse = resumable(store, 'place-order', () => {
    throw new Error('nothing was begun')
  })
  await expect(refuse('not begun', {}, whose)).rejects.toThrow('nothing was begun')
  pass(HOUR)
  expect(await complete()).toBe(0)
  expect(events).toEqual([])
})

test('a step does not begin if its pledge cannot be saved', async () => {
  const inner = memoryKeys()
  const pledges = { ...inner.pledges, save: () => Promise.reject(new Error('down')) }
  const { place, did } = orders({ ...inner, pledges } as KeyStore)
  await expect(place('k', { item: 'tea' }, whose)).rejects.toThrow('down')
  expect(did).toEqual([])
})

test('a task that keeps failing is retried at growing intervals, and given up after the lifetime of a record', async () => {
  const { place, did, events, complete } = orders(memoryKeys())
  await expect(place('k', { item: 'tea' }, whose)).rejects.toThrow('mail server')
  const tried: number[] = []
  for (let minutes = 0; minutes < 26 * 60; minutes += 5) {
    const before = events.length
    await complete()
    if (events.length > before) tried.push(minutes)
    pass(5 * MINUTE)
  }
  expect(tried.slice(0, 6)).toEqual([5, 10, 20, 40, 80, 140])
  expect(events.at(-1)).toMatchObject({ what: 'gave_up', error: new Error('the mail server is down') })
  expect(events.slice(0, -1).every(({ what }) => what === 'postponed')).toBe(true)
  expect(did).toEqual(['charged for tea'])
})

test('a task in progress is left alone, and the pledge of a completed task is dropped', async () => {
  const store = memoryKeys()
  const { place, did, trouble, events, complete } = orders(store)
  await expect(place('k', { item: 'tea' }, whose)).rejects.toThrow('mail server')
  pass(6 * MINUTE)
  const id = keyId('acme', 'k')
  const { fingerprint } = (await store.read(id)) ?? { fingerprint: '' }
  const hour = { lockMs: HOUR, ttlMs: HOUR }
  const { record } = await store.acquire(id, {
    fingerprint,
    holder: 'a client',
    onCrash: 'takeover',
    ...hour,
  })
  await complete()
  expect(events).toMatchObject([{ what: 'postponed', error: { code: 'KEY_IN_PROGRESS' } }])
  await store.settle(id, record.fence, { to: 'completed', result: Buffer.from('7'), ttlMs: HOUR })
  trouble.now = undefined
  pass(10 * MINUTE)
  await complete()
  expect(events[1]).toMatchObject({ what: 'settled' })
  expect(did).toEqual(['charged for tea'])
})

test('nothing runs if the record has expired, and the key stays unused', async () => {
  const store = memoryKeys()
  const { place, did, trouble } = orders(store)
  await expect(place('k', { item: 'tea' }, whose)).rejects.toThrow('mail server')
  pass(6 * MINUTE)
  const [pledge] = (await store.pledges?.due('place-order', 1, 1)) ?? []
  if (!pledge) throw new Error('nothing is pledged')
  pass(25 * HOUR)
  await expect(place.resume(pledge)).rejects.toMatchObject({ code: 'PLEDGE_GONE' })
  expect(did).toEqual(['charged for tea'])
  pass(1)
  trouble.now = undefined
  expect(await place('k', { item: 'other' }, whose)).toEqual({ id: 2 })
})

test('a pledge that does not belong to its key is ignored', async () => {
  const store = memoryKeys()
  const { place, did } = orders(store)
  await expect(place('k', { item: 'tea' }, whose)).rejects.toThrow('mail server')
  pass(6 * MINUTE)
  const [pledge] = (await store.pledges?.due('place-order', 1, 1)) ?? []
  const moved = { id: keyId('other', 'k'), bytes: pledge?.bytes ?? new Uint8Array() }
  await expect(place.resume(moved)).rejects.toMatchObject({ code: 'PLEDGE_GONE' })
  expect(did).toEqual(['charged for tea'])
})

test('several concurrent completers complete each task once', async () => {
  const { place, did, trouble, complete } = orders(memoryKeys())
  for (let n = 0; n < 30; n++) await expect(place(`k${n}`, { item: `${n}` }, whose)).rejects.toThrow()
  trouble.now = undefined
  pass(6 * MINUTE)
  const completed = await Promise.all([complete(), complete(), complete()])
  expect(completed.reduce((sum, count) => sum + count)).toBe(30)
  expect(did).toHaveLength(60)
})

test('a store outage costs one round and loses no pledge', async () => {
  const inner = memoryKeys()
  const { pledges } = inner
  if (!pledges) throw new Error('the store in memory keeps pledges')
  let down = true
  const due: typeof pledges.due = (...asked) =>
    down ? Promise.reject(new Error('down')) : pledges.due(...asked)
  const { place, trouble, events, complete } = orders({ ...inner, pledges: { ...pledges, due } })
  await expect(place('k', { item: 'tea' }, whose)).rejects.toThrow('mail server')
  trouble.now = undefined
  pass(6 * MINUTE)
  expect(await complete()).toBe(0)
  expect(events).toMatchObject([{ what: 'store_down', task: 'place-order' }])
  down = false
  expect(await complete()).toBe(1)
})

test('startCompleter() completes tasks in the background', async () => {
  const { place, did, trouble } = orders(memoryKeys())
  await expect(place('k', { item: 'tea' }, whose)).rejects.toThrow('mail server')
  trouble.now = undefined
  pass(6 * MINUTE)
  const event = await new Promise((observe) => {
    const completer = startCompleter([place], { everyMs: 10, observe })
    onTestFinished(() => completer.stop())
  })
  expect(event).toMatchObject({ what: 'completed' })
  expect(did).toEqual(['charged for tea', 'mailed about tea'])
})

test('stop() waits for running tasks and starts no more', async () => {
  const store = memoryKeys()
  const { place, did, trouble } = orders(store)
  for (const key of ['one', 'two'])
    await expect(place(key, { item: key }, whose)).rejects.toThrow('mail server')
  trouble.now = undefined
  pass(6 * MINUTE)
  const held = gate()
  const slow: Completable = {
    store,
    taskName: place.taskName,
    async resume(pledge) {
      await held.pass()
      return place.resume(pledge)
    },
  }
  const completer = startCompleter([slow], { everyMs: 10, concurrency: 1 })
  await held.reached
  const stopped = completer.stop()
  held.open()
  await stopped
  expect(did.filter((what) => what.startsWith('mailed'))).toHaveLength(1)
})

test('invalid options are rejected at setup', async () => {
  const { pledges: _, ...without } = memoryKeys()
  expect(() => resumable(without, 'x', () => 1)).toThrow(/postgresKeys\(\), redisKeys\(\) or memoryKeys\(\)/)
  expect(() => resumable(memoryKeys(), '', () => 1)).toThrow(HookonceError)
  expect(() => resumable(memoryKeys(), 'x', () => 1, { lockMs: 1 })).toThrow(/lockMs/)
  const task = resumable(memoryKeys(), 'x', () => 1)
  await expect(task('k', {}, {} as typeof whose)).rejects.toThrow(/tenant: is required/)
  expect(() => startCompleter([{ ...task, taskName: 'x', store: without }])).toThrow(/has no pledges/)
  expect(() => startCompleter([task], { everyMs: 0 })).toThrow(/everyMs/)
})

test('the same input under the same key is the same task, run by resumable() or by once()', async () => {
  const store = memoryKeys()
  const { place, trouble } = orders(store)
  trouble.now = undefined
  await place('k', { item: 'tea' }, whose)
  await expect(place('k', { item: 'coffee' }, whose)).rejects.toMatchObject({ code: 'KEY_REUSED' })
  expect(await once(store, 'k', () => 'not run', { ...whose, input: { item: 'tea' } })).toEqual({ id: 1 })
})
