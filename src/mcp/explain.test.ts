import { expect, test } from 'vitest'
import { type Chain, explain } from './explain.ts'

const AT = '2026-11-18T10:00:00.000Z'

const receipt: Chain['receipt'] = {
  id: '0a',
  receivedAt: AT,
  occurredAt: null,
  tenant: 'default',
  source: 'stripe',
  eventKey: 'evt_1',
  eventType: 'invoice.paid',
  objectId: null,
  secret: 1,
  bodySha256: '',
  bodyBytes: 2,
  headers: null,
  unreadable: null,
}

const job: Chain['jobs'][number] = {
  subscriber: 'billing',
  state: 'received',
  outcome: 'received',
  attempt: 2,
  crashes: 0,
  fence: 2,
  bornAt: AT,
  dueAt: AT,
  startedAt: null,
  finishedAt: null,
  worker: null,
  holder: null,
  reason: null,
  held: false,
  circuit: null,
  steps: [],
}

function attempt(number: number, error: string): Chain['attempts'][number] {
  const stack = `at charge (billing.ts:${number})\nat main`
  const run = { subscriber: 'billing', number, fence: number, startedAt: AT, endedAt: AT }
  return { ...run, outcome: 'failed', error, stack }
}

function effect(state: string): Chain['effects'][number] {
  const times = { startedAt: AT, endedAt: null, reopenedAt: null }
  const call = { key: 'charge:42', epoch: 0, mode: 'atMostOnce', state, downstreamKey: 'ho_7' }
  return { ...call, ...times, reason: null, resultText: null, subscriber: 'billing' }
}

function chain(state: Partial<typeof job> | undefined, more: Partial<Chain> = {}): Chain {
  return {
    receipt,
    reconciled: false,
    imported: false,
    deliveries: { count: 1, firstAt: AT, firstRepeatAt: null, lastAt: AT, mismatches: 0 },
    jobs: state ? [{ ...job, ...state }] : [],
    attempts: [],
    steps: [],
    effects: [],
    messages: [],
    decisions: [],
    paused: [],
    ...more,
  }
}

const holder = { host: 'web-1', pid: 7, isAlive: true }

test.each([
  ['received', chain({}), `Subscriber billing: has waited for a worker since ${AT}.`],
  ['held', chain({ held: true }), 'waits, because it is paused.'],
  [
    'held by a circuit',
    chain({ circuit: { state: 'open', since: AT, nextProbeAt: null } }),
    'waits, because its circuit is open. No error is recorded.',
  ],
  ['behind its order key', chain({ dueAt: null }), 'waits for an earlier event with the same order key.'],
  ['processing', chain({ state: 'processing', holder }), 'runs now, attempt 2, on web-1 pid 7.'],
  [
    'processing by nobody',
    chain({ state: 'processing', holder: { ...holder, isAlive: false } }),
    'its worker web-1 pid 7 is gone',
  ],
  [
    'retrying: the newest error, with its place',
    chain({ state: 'retrying' }, { attempts: [attempt(2, 'no card'), attempt(1, 'old')] }),
    `waits for its next attempt at ${AT}. The last error: "no card", thrown at charge (billing.ts:2).`,
  ],
  [
    'failed',
    chain({ state: 'failed' }, { attempts: [attempt(1, 'no card')] }),
    'failed after 2 attempts. The last error: "no card"',
  ],
  [
    'attention: the effect, and how to find out',
    chain({ state: 'attention' }, { effects: [effect('unknown')] }),
    'look the call up at the called service by its idempotency key "ho_7"',
  ],
  [
    'what a replay leaves alone',
    chain(
      { state: 'failed' },
      { effects: [effect('done')], steps: [{ subscriber: 'billing', name: 'reserve', at: AT }] },
    ),
    'Done, and not repeated by a replay: step reserve, effect charge:42.',
  ],
  [
    'an imported event',
    chain(undefined, { imported: true }),
    'was imported: another system had processed it',
  ],
  ['no subscriber', chain(undefined), 'No subscriber wanted it, so nothing ran.'],
  [
    'another body',
    chain({}, { deliveries: { count: 3, firstAt: AT, firstRepeatAt: AT, lastAt: AT, mismatches: 1 } }),
    `was delivered 3 times, and recorded once; first at ${AT}. 1 of the deliveries had another body`,
  ],
])('explains %s', (_, given, expected) => {
  expect(explain(given)).toContain(expected)
})
