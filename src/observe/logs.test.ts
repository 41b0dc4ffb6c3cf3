import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { jsonLogger, type Logger, logs } from './logs.ts'
import type { AttemptFact, DeliveryFact, Observer } from './observer.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Line = readonly [level: keyof Logger, fields: Record<string, unknown>, message: string]

function capture(): { lines: Line[]; logger: Logger } {
  const lines: Line[] = []
  const at = (level: keyof Logger) => (fields: Record<string, unknown>, message: string) =>
    void lines.push([level, fields, message])
  return { lines, logger: { info: at('info'), warn: at('warn'), error: at('error') } }
}

const refusal: DeliveryFact = {
  source: 'test',
  outcome: 'rejected',
  status: 401,
  code: 'SIGNATURE_MISMATCH',
  durationMs: 1,
}
const attempt: AttemptFact = {
  source: 'test',
  subscriber: 'app',
  receiptId: '00000000-0000-0000-0000-000000000001',
  eventKey: 'evt_1',
  attempt: 2,
  outcome: 'failed',
  durationMs: 20,
  ageMs: 20,
  error: new Error('closed'),
}

test('a flood of refusals is ten lines per source and reason in ten seconds, and a count of the rest', () => {
  const { lines, logger } = capture()
  const { delivery } = logs(logger)
  for (let n = 0; n < 1_000; n += 1) delivery({ ...refusal, detail: `no ${n}` })
  delivery({ ...refusal, code: 'TIMESTAMP_TOO_OLD' })
  expect(lines).toHaveLength(11)
  expect(lines[10]?.[1]).toMatchObject({ code: 'TIMESTAMP_TOO_OLD' })
  vi.advanceTimersByTime(10_001)
  expect(lines.slice(11)).toEqual([
    [
      'warn',
      { source: 'test', code: 'SIGNATURE_MISMATCH', detail: 'no 999', status: 401, not_logged: 990 },
      'delivery refused … and 990 more',
    ],
  ])
})

const facts: { name: string; many: (observer: Observer, n: number) => void }[] = [
  ...(['mismatch', 'duplicate', 'unwanted', 'handshake', 'rejected', 'shadowed'] as const).map((outcome) => ({
    name: `deliveries that are ${outcome}`,
    many: (observer: Observer, n: number) =>
      observer.delivery({ ...refusal, outcome, eventKey: `evt_${n}`, detail: `${n}` }),
  })),
  ...(['retrying', 'failed', 'lost', 'attention', 'deferred', 'returned'] as const).map((outcome) => ({
    name: `attempts that are ${outcome}`,
    many: (observer: Observer, n: number) =>
      observer.attempt({ ...attempt, outcome, attempt: n, receiptId: `${n}`, error: new Error(`no ${n}`) }),
  })),
  ...(['retrying', 'failed', 'lost', 'crashed', 'returned'] as const).map((outcome) => ({
    name: `messages that are ${outcome}`,
    many: (observer: Observer, n: number) =>
      observer.message({
        messageId: `${n}`,
        topic: 't',
        key: `${n}`,
        attempt: n,
        outcome,
        durationMs: 1,
      }),
  })),
  {
    name: 'jobs that are rescued',
    many: (observer, n) => observer.rescue({ receiptId: `${n}`, buried: n % 2 === 0 }),
  },
  {
    name: 'failures of our own',
    many: (observer, n) => observer.trouble({ doing: `settling ${n} jobs`, error: new Error(`no ${n}`) }),
  },
  {
    name: 'diagnoses',
    many: (observer, n) =>
      observer.diagnosis?.({ source: 'test', code: 'SIGNATURE_MISMATCH', diagnosis: `${n}` }),
  },
]

test.each(facts)('a flood of $name is a few lines', ({ many }) => {
  const { lines, logger } = capture()
  const observer = logs(logger)
  for (let n = 0; n < 5_000; n += 1) many(observer, n)
  vi.advanceTimersByTime(10_001)
  expect(lines.length).toBeLessThanOrEqual(22)
  expect(lines.at(-1)?.[2]).toMatch(/… and [\d,]+ more$/)
})

test.each(['recorded', 'processed'])('every event that is %s has its line', (outcome) => {
  const { lines, logger } = capture()
  const observer = logs(logger)
  for (let n = 0; n < 100; n += 1) {
    if (outcome === 'recorded') observer.delivery({ source: 'test', outcome, status: 202, durationMs: 1 })
    else observer.attempt({ ...attempt, outcome: 'processed' })
  }
  expect(lines).toHaveLength(100)
})

test.each([
  ['processed', 'info'],
  ['returned', 'info'],
  ['retrying', 'warn'],
  ['lost', 'warn'],
  ['failed', 'error'],
] as const)('an attempt that is %s is logged at level %s, in the words of the glossary', (outcome, level) => {
  const { lines, logger } = capture()
  logs(logger).attempt({ ...attempt, outcome })
  expect(lines).toHaveLength(1)
  expect(lines[0]?.[0]).toBe(level)
  expect(lines[0]?.[1]).toMatchObject({
    receipt_id: attempt.receiptId,
    event_key: 'evt_1',
    job: 'app',
    attempt: 2,
    status: outcome,
  })
})

test.each([
  [{ buried: false }, 'warn', 'retrying'],
  [{ buried: true }, 'warn', 'failed'],
  [{ buried: false, needsPerson: true }, 'error', 'attention'],
] as const)('a rescue with %o names the event and the job', (more, level, status) => {
  const { lines, logger } = capture()
  const { source, subscriber, receiptId, eventKey } = attempt
  const names = { source, subscriber, receiptId, eventKey, eventType: 'paid', objectId: 'in_1' }
  logs(logger).rescue({ ...names, attempt: 2, ...more })
  expect(lines.map(([at, fields]) => [at, fields])).toEqual([
    [
      level,
      {
        source: 'test',
        event_key: 'evt_1',
        event_type: 'paid',
        object_id: 'in_1',
        receipt_id: attempt.receiptId,
        job: 'app',
        attempt: 2,
        status,
      },
    ],
  ])
})

test('a delivery that was recorded without a key or type has its line, and a warning as rare as a refusal', () => {
  const { lines, logger } = capture()
  const { delivery } = logs(logger)
  const unread: DeliveryFact = { ...refusal, outcome: 'recorded', status: 202, code: 'EVENT_KEY_MISSING' }
  for (let n = 0; n < 100; n += 1) delivery(unread)
  const messages = lines.map(([level, , message]) => `${level} ${message}`)
  expect(messages.filter((line) => line === 'info recorded')).toHaveLength(100)
  expect(
    messages.filter((line) => line === 'warn delivery recorded, although a documented field is missing'),
  ).toHaveLength(10)
})

test('an error without a text is logged too', () => {
  const { lines, logger } = capture()
  logs(logger).attempt({ ...attempt, error: Object.create(null) })
  logs(logger).trouble({ doing: 'settling 1 jobs', error: Object.create(null) })
  expect(lines.map(([, fields]) => fields.error)).toEqual([
    'thrown: a value without a text',
    'thrown: a value without a text',
  ])
})

test('a logger that throws at a summary causes a warning, and ends nothing', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  onTestFinished(() => warned.mockRestore())
  let lines = 0
  const warn = (): void => {
    lines += 1
    if (lines > 10) throw new Error('the disk is full')
  }
  const { delivery } = logs({ info: () => undefined, warn, error: () => undefined })
  for (let n = 0; n < 100; n += 1) delivery(refusal)
  vi.advanceTimersByTime(10_001)
  expect(warned).toHaveBeenCalledWith('the logger of hookonce threw: Error: the disk is full')
})

test('a log line is JSON without control characters', () => {
  const written: string[] = []
  const stderr = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0)
  onTestFinished(() => stderr.mockRestore())
  const said = 'a\u009b31m\u202eb\u2067c\u001b[2J é'
  jsonLogger().warn({ said }, 'message')
  const [line = ''] = written
  expect(line).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
  expect(JSON.parse(line)).toMatchObject({ said, message: 'message' })
})
