import type { Pool } from 'pg'
import { expect, test, vi } from 'vitest'
import { testSource } from '../../test/support/source.ts'
import type { Settlement } from '../ledger/jobs/settle.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import type { AttemptFact, Observer } from '../observe/observer.ts'
import { Drain } from '../work/interruption.ts'
import { attempt } from './attempt.ts'
import { type LeasedJob, Run } from './run.ts'
import type { CommitOutcome } from './settle/commit-writes.ts'
import type { RunCommit } from './settle/settler.ts'
import type { Handler } from './subscriber.ts'

const event: Event = {
  receiptId: '00000000-0000-0000-0000-000000000001',
  tenant: 'default',
  source: 'test',
  key: 'evt_1',
  type: 'a',
  objectId: undefined,
  occurredAt: undefined,
  version: undefined,
  receivedAt: new Date(0),
  payload: {},
  object: {},
  body: new Uint8Array(),
  headers: {},
}

/** These handlers write nothing. */
const noOutbox = { requirePublisher: () => undefined, committed: () => undefined }
const nowhere = { pool: undefined as unknown as Pool, shards: 16, outbox: noOutbox, observer: {} }

function runOf(handler: Handler, more: Partial<LeasedJob> & { timeoutMs?: number } = {}): Run {
  const { timeoutMs = 10_000, ...leased } = more
  const subscriber = {
    id: 1,
    tenant: 'default',
    sourceName: 'test',
    source: testSource(),
    name: 'app',
    handler,
    slotGroup: { concurrency: 1 },
    limiter: undefined,
    timeoutMs,
    retry: { maxAttempts: 5, maxAgeMs: 1e9, baseDelayMs: 1, maxDelayMs: 1 },
  }
  return new Run(
    {
      job: { shard: 0, receiptId: event.receiptId, subscriber: 1, fence: 7 },
      attempt: 1,
      ageMs: 0,
      epoch: 0,
      isFirst: true,
      lastStep: undefined,
      orderKey: undefined,
      event: () => event,
      ...leased,
    },
    { subscriber, business: nowhere, isHeld: () => true },
  )
}

async function ending(run: Run, wasCommitted = true): Promise<{ settlement: Settlement; fact: AttemptFact }> {
  const settlements: Settlement[] = []
  const facts: AttemptFact[] = []
  const observer: Observer = {
    delivery: () => undefined,
    attempt: (fact) => void facts.push(fact),
    rescue: () => undefined,
    message: () => undefined,
    trouble: () => undefined,
  }
  const settle = async ({ settlement }: RunCommit): Promise<CommitOutcome> => {
    settlements.push(settlement)
    return { kind: wasCommitted ? 'committed' : 'lost' }
  }
  const { signal } = new AbortController()
  await attempt(run, { settle, observer, signal })
  const [settlement] = settlements
  const [fact] = facts
  if (!settlement || !fact) throw new Error('an attempt settles and tells once')
  expect([settlements.length, facts.length]).toEqual([1, 1])
  return { settlement, fact }
}

test('an event whose handler returns is processed, under the fence of its run', async () => {
  const { settlement, fact } = await ending(runOf(() => 'anything'))
  expect(settlement).toMatchObject({ state: 'processed', fence: 7, returnAttempt: false })
  expect(fact).toMatchObject({ outcome: 'processed', eventKey: 'evt_1', attempt: 1 })
})

test('a handler that throws before it returns a promise is retried like any other', async () => {
  const { settlement } = await ending(
    runOf(() => {
      throw new Error('at once')
    }),
  )
  expect(settlement).toMatchObject({ state: 'retrying', reason: 'Error: at once' })
})

test.each([undefined, null, 'text', Object.create(null), Symbol('odd')])(
  'the attempt is settled for any thrown value',
  async (thrown) => {
    const { settlement } = await ending(runOf(() => Promise.reject(thrown)))
    expect(settlement.state).toBe('retrying')
    expect(settlement.reason).toMatch(/^thrown: /)
  },
)

test('an outcome that the ledger refused is reported as lost', async () => {
  const { fact } = await ending(
    runOf(() => undefined),
    false,
  )
  expect(fact.outcome).toBe('lost')
})

test('a handler that exceeds its timeout is aborted with the reason, and retried', async () => {
  let reason: unknown
  const handler: Handler = (_event, ctx) =>
    new Promise(() => {
      ctx.signal.addEventListener('abort', () => (reason = ctx.signal.reason))
    })
  const { settlement } = await ending(runOf(handler, { timeoutMs: 5 }))
  expect(reason).toBeInstanceOf(HookonceError)
  expect(reason).toMatchObject({ code: 'HANDLER_TIMEOUT' })
  expect(settlement.state).toBe('retrying')
  expect(settlement.reason).toContain('the handler took longer than 5 ms')
})

test.each([
  [1, 'received'],
  [2, 'retrying'],
])('a run that is drained at attempt %i is handed back as %s, and does not count', async (number, state) => {
  const run = runOf(() => new Promise(() => undefined), { attempt: number })
  const ended = ending(run)
  run.interruption.interrupt(new Drain('stopping'))
  const { settlement, fact } = await ended
  expect(settlement).toMatchObject({ state, returnAttempt: true, delayMs: 0, reason: undefined })
  expect(fact.outcome).toBe('returned')
})

test('a run whose lease was lost before it began does not reach the handler', async () => {
  const handler = vi.fn()
  const run = runOf(handler)
  run.interruption.interrupt(new HookonceError('LEASE_LOST', 'too late'))
  const { settlement } = await ending(run)
  expect(handler).not.toHaveBeenCalled()
  expect(settlement.state).toBe('retrying')
})

test('an event that can no longer be read fails without a run of the handler', async () => {
  const handler = vi.fn()
  const { settlement } = await ending(
    runOf(handler, {
      event: () => {
        throw new HookonceError('BODY_EXPIRED', 'gone')
      },
    }),
  )
  expect(handler).not.toHaveBeenCalled()
  expect(settlement.state).toBe('failed')
})

test('the key for a downstream call is the same at each attempt, and different for each name', async () => {
  const keys: string[] = []
  const handler: Handler = (_event, ctx) => {
    keys.push(ctx.idempotencyKey('mail'), ctx.idempotencyKey('charge'))
  }
  await ending(runOf(handler, { attempt: 1 }))
  await ending(runOf(handler, { attempt: 2 }))
  expect(keys[0]).toBe(keys[2])
  expect(keys[1]).toBe(keys[3])
  expect(keys[0]).not.toBe(keys[1])
})
