import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { EventChain } from '../receipt.ts'
import { eventAsTest } from './event-as-test.ts'

/* The text of the test for each chain. Tests in test/scenarios run these texts. */

const at = new Date('2026-11-18T01:02:03Z')
const receipt: EventChain['receipt'] = {
  id: '9c1d2e3f-6b1a-8d55-a3f0-1f0c7b9d2e11',
  receivedAt: at,
  occurredAt: at,
  tenant: 'default',
  source: 'stripe',
  eventKey: 'evt_1',
  eventType: 'invoice.paid',
  objectId: 'in_1',
  secret: 1,
  bodySha256: '',
  headers: 'Content-Type: application/json\nStripe-Signature: t=1,v1=ab\n',
  body: Buffer.from('{"id":"evt_1","type":"invoice.paid","data":{"object":{"id":"in_1","amount_paid":500}}}'),
  bodyExpired: false,
  unreadable: null,
}

function job(state: string, reason: string | null): EventChain['jobs'][number] {
  const times = { bornAt: at, dueAt: at, startedAt: at, finishedAt: at }
  const counts = { attempt: 1, crashes: 0, fence: 1, worker: null, holder: null }
  const rest = { held: false, circuit: null, steps: [] }
  return { subscriber: 'invoice.paid', state, outcome: state, reason, ...times, ...counts, ...rest }
}

function attempt(error: string | null): EventChain['attempts'][number] {
  const outcome = error === null ? 'processed' : 'failed'
  const times = { startedAt: at, endedAt: at }
  return { subscriber: 'invoice.paid', number: 1, fence: 1, ...times, outcome, error, stack: null }
}

function effect(key: string, state: string): EventChain['effects'][number] {
  const times = { startedAt: at, endedAt: at, reopenedAt: null }
  const call = { downstreamKey: 'k', resultText: null, subscriber: 'invoice.paid' }
  return {
    key,
    epoch: 1,
    mode: 'keyed',
    state,
    reason: null,
    ...times,
    ...call,
  } as EventChain['effects'][number]
}

function chainOf(changes: Partial<EventChain>): EventChain {
  return {
    receipt,
    reconciled: false,
    imported: false,
    deliveries: { count: 1, firstAt: at, firstRepeatAt: null, lastAt: at, mismatches: 0 },
    jobs: [],
    attempts: [],
    steps: [],
    effects: [],
    messages: [],
    decisions: [],
    paused: [],
    asOf: at,
    ...changes,
  }
}

const deliveries = (count: number, mismatches = 0) => {
  return { count, firstAt: at, firstRepeatAt: at, lastAt: at, mismatches }
}

test('the reference shows a generated test', () => {
  const made = eventAsTest(
    chainOf({
      deliveries: deliveries(3),
      jobs: [job('failed', 'TypeError: no customer')],
      attempts: [attempt('TypeError: no customer')],
      effects: [effect('receipt:in_1', 'done')],
    }),
    { hooks: '../src/hooks.ts' },
  )
  const reference = readFileSync(new URL('../../../docs/reference/testing.md', import.meta.url), 'utf8')
  const [, shown] = /```ts\n(\/\/ stripe invoice\.paid[\s\S]*?)```/.exec(reference) ?? []
  expect(made).toBe(shown)
})

test.each([
  ['retrying', 'Error: 503', '// Its state was "retrying" when this was copied: Error: 503'],
  ['attention', 'EFFECT_UNKNOWN: a', '// Its state was "attention" when this was copied: EFFECT_UNKNOWN: a'],
  [
    'failed',
    'DISCARDED by cli:a: b',
    '// Its state was "failed" when this was copied: DISCARDED by cli:a: b',
  ],
])('a job that is %s is expected to be processed, with its real state as a note', (state, reason, note) => {
  const made = eventAsTest(chainOf({ jobs: [job(state, reason)] }))
  expect(made).toContain(`    ${note}\n    'invoice.paid': 'processed',\n`)
})

test('a failed effect did not happen, and an effect of unknown outcome is not asserted', () => {
  const made = eventAsTest(chainOf({ effects: [effect('a', 'failed'), effect('b\n', 'unknown')] }))
  expect(made).toContain(`expect(await t.effects('a')).toHaveHappenedTimes(0)`)
  expect(made).toContain('// The outcome of the effect b was not known')
})

test('missing data of the ledger is noted at the top', () => {
  expect(eventAsTest(chainOf({ deliveries: deliveries(2_000, 3) }))).toMatch(
    /\/\/ It was delivered 2000 times\.\n\/\/ 3 of its deliveries had another body[\s\S]*times: 1000/,
  )
  const listed = eventAsTest(chainOf({ reconciled: true, deliveries: deliveries(0) }))
  expect(listed).toContain('// It never arrived: the list of the provider had it.')
  expect(listed).not.toContain('times:')
})

test('binary bodies are delivered unchanged', () => {
  const body = Buffer.from([0xff, 0, 0x27])
  expect(eventAsTest(chainOf({ receipt: { ...receipt, body } }))).toContain(`Buffer.from('/wAn', 'base64')`)
})
