import { expect, onTestFinished, test, vi } from 'vitest'
import { type EffectEndFact, type EffectFact, NotDone, type Observer } from '../../../src/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { until } from '../../support/until.ts'

test('an observer gets deliveries, attempts and messages, and missing members are ignored', async () => {
  const db = await freshDatabase()
  const seen: unknown[][] = []
  const hooks = testHooks(db, {
    outbox: { publishers: { '*': () => undefined } },
    observers: [
      { delivery: ({ outcome, eventKey }) => void seen.push(['delivery', outcome, eventKey]) },
      {
        attempt: ({ outcome, eventKey }) => void seen.push(['attempt', outcome, eventKey]),
        message: ({ outcome, topic }) => void seen.push(['message', outcome, topic]),
      },
    ],
  })
  hooks.on('test', '*', (_event, ctx) => void ctx.publish('told', {}))
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it is published', () => seen.length === 3)
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  expect(seen).toHaveLength(4)
  expect(seen).toEqual(
    expect.arrayContaining([
      ['delivery', 'recorded', 'evt_1'],
      ['attempt', 'processed', 'evt_1'],
      ['message', 'published', 'told'],
      ['delivery', 'duplicate', 'evt_1'],
    ]),
  )
})

test('effects are observed with their mode and outcome, and each start is a call', async () => {
  const db = await freshDatabase()
  const started: EffectFact[] = []
  const ended: EffectEndFact[] = []
  const hooks = testHooks(db, {
    retry: { baseDelayMs: 1, maxDelayMs: 1 },
    observers: [
      { effectStarted: (fact) => void started.push(fact), effectEnded: (fact) => void ended.push(fact) },
    ],
  })
  hooks.on(
    'test',
    '*',
    async (_event, ctx) => {
      await ctx.effect('done', () => 1)
      await ctx.transaction((tx) => tx.effect('written', async () => 2), { name: 'write' })
      await ctx.effect('refused by the other side', () => {
        if (ctx.attempt === 1) throw new NotDone('sold out')
      })
      await ctx.effect('sent', () => Promise.reject(new Error('connection reset')), { mode: 'atMostOnce' })
    },
    { name: 'app' },
  )
  await hooks.start()
  const receiptId = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('a person is asked', () =>
    db.number(`select count(*) from hookonce.job where state = 'attention'`),
  )
  await until('all is reported', () => ended.at(-1)?.outcome === 'unknown')

  expect(ended.map(({ key, mode, outcome }) => [key, mode, outcome])).toEqual([
    ['done', 'keyed', 'done'],
    ['written', 'tx', 'done'],
    ['refused by the other side', 'keyed', 'failed'],
    ['done', 'keyed', 'recorded'],
    ['refused by the other side', 'keyed', 'done'],
    ['sent', 'atMostOnce', 'open'],
    ['done', 'keyed', 'recorded'],
    ['refused by the other side', 'keyed', 'recorded'],
    ['sent', 'atMostOnce', 'unknown'],
  ])
  const called = ['done', 'failed', 'open']
  expect(started.map(({ key }) => key)).toEqual(
    ended.filter(({ outcome }) => called.includes(outcome)).map(({ key }) => key),
  )
  expect(ended[2]).toEqual({
    source: 'test',
    subscriber: 'app',
    receiptId,
    key: 'refused by the other side',
    mode: 'keyed',
    outcome: 'failed',
    durationMs: expect.any(Number),
    error: new NotDone('sold out'),
  })
  expect(await db.rows(`select key, state from hookonce.effect order by key, epoch`)).toEqual([
    { key: 'done', state: 'done' },
    { key: 'refused by the other side', state: 'failed' },
    { key: 'refused by the other side', state: 'done' },
    { key: 'sent', state: 'unknown' },
    { key: 'written', state: 'done' },
  ])
})

test('an observer that throws in every member harms neither answers, nor jobs, nor messages', async () => {
  const db = await freshDatabase()
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  onTestFinished(() => warnings.mockRestore())
  const broken = (): never => {
    throw new Error('disk full')
  }
  const observer: Required<Observer> = {
    delivery: broken,
    diagnosis: broken,
    keyFinding: broken,
    unattended: broken,
    alert: broken,
    attempt: broken,
    effectStarted: broken,
    effectEnded: broken,
    rescue: broken,
    message: broken,
    circuit: broken,
    lease: broken,
    chore: broken,
    trouble: broken,
    warning: broken,
    span: broken,
    traceparent: broken,
    tracestate: broken,
  }
  const attempts: string[] = []
  const hooks = testHooks(db, {
    outbox: { publishers: { '*': () => undefined } },
    observers: [observer, { attempt: ({ outcome }) => void attempts.push(outcome) }],
  })
  let effects = 0
  hooks.on('test', '*', async (_event, ctx) => {
    await ctx.effect('once', () => {
      effects += 1
    })
    ctx.publish('told', {})
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('the message is published', () =>
    db.number(`select count(*) from hookonce.outbox where state = 'published'`),
  )
  expect(await db.rows('select state from hookonce.job')).toEqual([{ state: 'processed' }])
  expect(effects).toBe(1)
  await until('the attempt is reported', () => attempts.length > 0)
  expect(attempts).toEqual(['processed'])
  for (const member of ['delivery', 'attempt', 'effectStarted', 'effectEnded', 'span', 'traceparent'])
    expect(warnings).toHaveBeenCalledWith(`${member}() of an observer of hookonce threw: Error: disk full`)
})
