import { expect, test } from 'vitest'
import { axisOf, type Chain, deliveryLanes, jobGroups } from './timeline.ts'

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString()

const job = {
  subscriber: 'mail',
  state: 'processed',
  outcome: 'processed',
  attempt: 2,
  crashes: 0,
  fence: 2,
  bornAt: at(0),
  dueAt: at(0),
  startedAt: at(30),
  finishedAt: at(31),
  worker: null,
  holder: null,
  reason: null,
  held: false,
  circuit: null,
  steps: [],
}

const attempt = { subscriber: 'mail', error: null, stack: null }

function chain(more: Partial<Chain> = {}): Chain {
  return {
    receipt: { receivedAt: at(0) } as Chain['receipt'],
    reconciled: false,
    imported: false,
    deliveries: { count: 1, firstAt: at(0), firstRepeatAt: null, lastAt: at(0), mismatches: 0 },
    jobs: [job],
    attempts: [
      { ...attempt, number: 2, fence: 2, startedAt: at(30), endedAt: at(31), outcome: 'processed' },
      {
        ...attempt,
        number: 1,
        fence: 1,
        startedAt: at(0.1),
        endedAt: at(8),
        outcome: 'retrying',
        error: 'reply lost',
      },
    ],
    steps: [],
    effects: [],
    messages: [],
    decisions: [],
    paused: [],
    ...more,
  }
}

const effect = {
  key: 'mail:1',
  epoch: 1,
  mode: 'keyed',
  reason: null,
  reopenedAt: null,
  downstreamKey: 'k',
  resultText: null,
  subscriber: 'mail',
}

test('parts are below the attempt that ran them, and the delay between attempts is named', () => {
  const [group] = jobGroups(
    chain({
      effects: [{ ...effect, state: 'done', startedAt: at(0.2), endedAt: at(30.5) }],
      steps: [{ subscriber: 'mail', name: 'save', at: at(30.2) }],
    }),
  )
  expect(group?.lanes.map((lane) => [lane.kind, 'name' in lane ? lane.name : lane.why])).toEqual([
    ['attempt', '1'],
    ['effect', 'mail:1'],
    ['wait', 'retry'],
    ['attempt', '2'],
    ['effect', 'mail:1'],
    ['step', 'save'],
  ])
  // The effect was called in the first attempt and done in the second.
  expect(group?.lanes[1]).toMatchObject({ state: 'retrying', end: Date.parse(at(8)) })
  expect(group?.lanes[4]).toMatchObject({ state: 'processed', start: Date.parse(at(30)), note: 'again' })
  expect(group?.lanes[2]).toMatchObject({ start: Date.parse(at(8)), end: Date.parse(at(30)) })
})

test.each([
  [
    { state: 'retrying', dueAt: at(60) },
    { why: 'next', end: Date.parse(at(60)) },
  ],
  [
    { state: 'received', dueAt: null },
    { why: 'order', end: undefined },
  ],
  [
    { state: 'retrying', dueAt: at(60), held: true },
    { why: 'paused', end: undefined },
  ],
  [
    { state: 'retrying', dueAt: at(60), circuit: { state: 'open', since: at(0), nextProbeAt: at(90) } },
    { why: 'circuit', end: Date.parse(at(90)) },
  ],
  [
    { state: 'retrying', dueAt: at(60), circuit: { state: 'half-open', since: at(0), nextProbeAt: null } },
    { why: 'circuit', end: undefined },
  ],
] as const)('a job that is not finished shows what it waits for: %o', (more, wait) => {
  const [group] = jobGroups(chain({ jobs: [{ ...job, ...more }] }))
  expect(group?.lanes.at(-1)).toMatchObject({ kind: 'wait', ...wait })
  expect(jobGroups(chain())[0]?.lanes.at(-1)?.kind).toBe('attempt')
})

test('repeated deliveries are lanes at the times of the first and the last', () => {
  const lanesOf = (count: number) => {
    const times = { firstAt: at(0), firstRepeatAt: at(2), lastAt: count > 2 ? at(31) : at(2) }
    const lanes = deliveryLanes(chain({ deliveries: { count, ...times, mismatches: 0 } }))
    return lanes.map(({ note, name, start }) => [note, name, start])
  }
  const first = ['recorded', '', Date.parse(at(0))]
  expect(lanesOf(2)).toEqual([first, ['duplicate', '1', Date.parse(at(2))]])
  expect(lanesOf(4)).toEqual([
    first,
    ['first-repeat', '1', Date.parse(at(2))],
    ['duplicate', '3', Date.parse(at(31))],
  ])
})

const kind = 'attempt'

test('the axis keeps the proportions of work, and collapses a long idle time', () => {
  const axis = axisOf(
    [
      { kind, start: 0, end: 100 },
      { kind, start: 1_000_000, end: 1_000_100 },
    ],
    0,
  )
  expect(axis(0)).toBe(0)
  expect(axis(1_000_100)).toBeCloseTo(1)
  expect(axis(100)).toBeCloseTo(0.475)
  expect(axis(1_000_000)).toBeCloseTo(0.525)
  // Half of the idle time is half of the collapsed part.
  expect(axis(500_050)).toBeCloseTo(0.5)
})

test('the axis is monotonic for points, for work in progress, and for no work', () => {
  const points = axisOf(
    [
      { kind, start: 5, end: 5 },
      { kind, start: 100_000, end: 100_000 },
    ],
    0,
  )
  expect([points(5), points(100_000)]).toEqual([0, 1])
  const open = axisOf([{ kind, start: 0, end: undefined }], 10)
  expect([open(0), open(5), open(10)]).toEqual([0, 0.5, 1])
  expect(axisOf([], 0)(7)).toBe(0)
})

test('a message that waits for hours does not flatten the work', () => {
  const axis = axisOf(
    [
      { kind, start: 0, end: 100 },
      { kind: 'message', start: 100, end: undefined },
    ],
    36_000_000,
  )
  expect([axis(0), axis(50), axis(36_000_000)]).toEqual([0, 0.475, 1])
})
