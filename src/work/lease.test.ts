import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Queryable } from '../ledger/driver/statement.ts'
import { type LeaseFact, observers } from '../observe/observer.ts'
import { takeLease } from './lease.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Reply = 'alive' | 'dead' | 'error' | 'silence'

/** A ledger that answers heartbeats as the test sets it. */
function ledger(reply: () => Reply): Queryable & { enlisted: number; beats: number; retired: number[] } {
  return {
    enlisted: 0,
    beats: 0,
    retired: [],
    async query({ name, values }) {
      if (name === 'hookonce_begin_enlisting') return { rows: [], rowCount: 1 }
      if (name === 'hookonce_enlist_worker') {
        this.enlisted += 1
        return { rows: [{ id: this.enlisted, startedAt: '0' }], rowCount: 1 }
      }
      if (name === 'hookonce_retire_worker') {
        this.retired.push(Number(values[0]))
        return { rows: [], rowCount: 1 }
      }
      this.beats += 1
      const said = reply()
      if (said === 'error') throw new Error('connection reset')
      if (said === 'silence') return new Promise(() => undefined)
      return { rows: [], rowCount: said === 'alive' ? 1 : 0 }
    },
  }
}

async function lease(reply: () => Reply) {
  const db = ledger(reply)
  const onLost = vi.fn()
  const facts: LeaseFact[] = []
  const held = await takeLease({
    db,
    leaseMs: 3_000,
    serves: [],
    observer: observers([{ lease: (fact) => void facts.push(fact) }]),
    onLost,
    onBeat: async () => undefined,
  })
  return { db, onLost, held, facts }
}

test('while heartbeats arrive the lease is held', async () => {
  const { held, onLost, db } = await lease(() => 'alive')
  await vi.advanceTimersByTimeAsync(30_000)
  expect(held.worker).toBe(1)
  expect(db.beats).toBe(30)
  expect(onLost).not.toHaveBeenCalled()
})

test('a heartbeat without an answer does not keep work running past the local share of the lease', async () => {
  const { held, onLost } = await lease(() => 'silence')
  await vi.advanceTimersByTimeAsync(2_300)
  expect(onLost).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(200)
  expect(onLost).toHaveBeenCalledOnce()
  expect(held.worker).toBeUndefined()
})

test('failed heartbeats lose the lease at its local share, and the next successful one restores it', async () => {
  let reply: Reply = 'error'
  const { held, onLost, db } = await lease(() => reply)
  await vi.advanceTimersByTimeAsync(2_500)
  expect(onLost).toHaveBeenCalledOnce()
  expect(held.worker).toBeUndefined()
  reply = 'alive'
  await vi.advanceTimersByTimeAsync(1_000)
  expect(held.worker).toBe(1)
  expect(db.enlisted).toBe(1)
})

test('a single failed heartbeat does not lose the lease', async () => {
  const replies: Reply[] = ['error', 'alive', 'error', 'alive']
  const { held, onLost } = await lease(() => replies.shift() ?? 'alive')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(onLost).not.toHaveBeenCalled()
  expect(held.worker).toBe(1)
})

test('a worker that was declared dead continues under another id', async () => {
  const replies: Reply[] = ['dead']
  const { held, onLost, db } = await lease(() => replies.shift() ?? 'alive')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(onLost).toHaveBeenCalledOnce()
  expect(held.worker).toBe(2)
  await held.retire()
  expect(db.retired).toEqual([2])
})

test('a retired lease is not held, and sends no heartbeats', async () => {
  const { held, db, onLost } = await lease(() => 'alive')
  await held.retire()
  expect(held.worker).toBeUndefined()
  await vi.advanceTimersByTimeAsync(30_000)
  expect(db.beats).toBe(0)
  expect(onLost).not.toHaveBeenCalled()
  expect(vi.getTimerCount()).toBe(0)
})

test('contact is the time of answers without interruption: a failure, a silence or a lost lease resets it', async () => {
  const replies: Reply[] = ['alive', 'alive', 'error']
  const { held } = await lease(() => replies.shift() ?? 'alive')
  expect(held.contactMs).toBe(0)
  await vi.advanceTimersByTimeAsync(2_500)
  expect(held.contactMs).toBe(2_500)
  // The third heartbeat fails, the fourth is answered.
  await vi.advanceTimersByTimeAsync(500)
  expect(held.contactMs).toBe(0)
  await vi.advanceTimersByTimeAsync(1_500)
  expect(held.contactMs).toBe(500)
})

test('a process whose timers did not run for long has no contact before its next heartbeat', async () => {
  const { held } = await lease(() => 'alive')
  await vi.advanceTimersByTimeAsync(30_000)
  const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 2_100)
  expect(held.contactMs).toBe(0)
  now.mockRestore()
})

test('a lease that is renewed late, lost or taken over is reported, and a punctual one is not', async () => {
  const replies: Reply[] = ['alive', 'error', 'alive', 'error', 'error', 'alive', 'dead', 'alive']
  const { facts } = await lease(() => replies.shift() ?? 'alive')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(facts).toEqual([
    { worker: 1, outcome: 'late', silentMs: 2_000 },
    { worker: 1, outcome: 'lost', silentMs: 2_400 },
    { worker: 1, outcome: 'takenOver', silentMs: 1_000 },
    { worker: 1, outcome: 'lost', silentMs: 1_000 },
  ])
})
