import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Observer, Span, SpanEnd } from '../../../src/index.ts'
import { Permanent } from '../../../src/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, type TestHooks, testHooks } from '../../support/hooks.ts'
import { meeting } from '../../support/meeting-point.ts'
import { signed } from '../../support/source.ts'
import { until } from '../../support/until.ts'

interface Open {
  readonly id: string
  readonly trace: string
}

interface Ended extends Open {
  readonly span: Span
  /** The id of the parent span. */
  readonly parent: string | undefined
  readonly end: SpanEnd
}

/** A tracer over AsyncLocalStorage. Like real ones, it continues the trace of a traceparent. */
function tracer() {
  const current = new AsyncLocalStorage<Open>()
  const ended: Ended[] = []
  const observer: Observer = {
    span(span, run) {
      const parent = current.getStore()
      const [, remote] = /^00-(\w+)-/.exec('traceparent' in span ? (span.traceparent ?? '') : '') ?? []
      const trace = parent?.trace ?? remote ?? randomBytes(16).toString('hex')
      const open = { id: randomBytes(8).toString('hex'), trace }
      return current.run(open, async () => {
        ended.push({ ...open, span, parent: parent?.id, end: await run() })
      })
    },
    traceparent() {
      const open = current.getStore()
      return open && `00-${open.trace}-${open.id}-01`
    },
  }
  const spans = (kind: Span['kind']) => ended.filter(({ span }) => span.kind === kind)
  return { observer, current, ended, spans }
}

function settled(db: TestDatabase, count: number): Promise<boolean> {
  const finished = `select count(*) from hookonce.job where state in ('processed', 'failed')`
  return db.number(finished).then((found) => found === count)
}

async function deliverTraced(hooks: TestHooks, id: string, traceparent: string): Promise<void> {
  const { headers, ...request } = signed({ id, type: 'a' })
  const traced = { ...request, headers: { ...headers, traceparent } }
  expect((await hooks.fetch(new Request('http://app.test/in/test', traced))).status).toBe(202)
}

test('effects are in the span of their attempt, and parallel jobs do not mix', async () => {
  const db = await freshDatabase()
  const { observer, current, ended, spans } = tracer()
  const hooks = testHooks(db, { observers: [observer] })
  const keys = Array.from({ length: 20 }, (_, n) => `evt_${n}`)
  const insideOf = new Map<string, (string | undefined)[]>()
  const allStarted = meeting(keys.length)
  hooks.on('test', '*', async (event, ctx) => {
    await allStarted()
    const before = current.getStore()?.id
    const inEffect = await ctx.effect(`call:${event.key}`, () => current.getStore()?.id ?? null)
    insideOf.set(event.key, [before, current.getStore()?.id, inEffect ?? undefined])
  })
  await hooks.start()
  // Sent together, so that deliveries share commits, from which the jobs are started.
  const receipts = await Promise.all(keys.map((id) => deliver(hooks, { id, type: 'a' })))
  await until('all are done', () => settled(db, keys.length))
  await until('all spans have ended', () => ended.length === 3 * keys.length)

  expect(new Set(ended.map(({ id }) => id)).size).toBe(ended.length)
  const deliveries = new Map(spans('delivery').map((delivery) => [delivery.trace, delivery]))
  expect(deliveries.size).toBe(keys.length)
  for (const [n, key] of keys.entries()) {
    const ofReceipt = ended.filter(({ span }) => 'receiptId' in span && span.receiptId === receipts[n])
    const [effect, attempt] = ofReceipt
    expect(ofReceipt.map(({ span, end }) => [span.kind, end.outcome])).toEqual([
      ['effect', 'done'],
      ['attempt', 'processed'],
    ])
    expect(effect?.span).toMatchObject({ key: `call:${key}`, mode: 'keyed', subscriber: '*' })
    expect(effect?.parent).toBe(attempt?.id)
    expect(insideOf.get(key)).toEqual([attempt?.id, attempt?.id, effect?.id])
    // Not inside a delivery's span, but in the trace of its own delivery.
    expect(attempt?.parent).toBeUndefined()
    const delivery = deliveries.get(attempt?.trace ?? '')
    expect(delivery?.end.outcome).toBe('202')
    expect(attempt?.span).toMatchObject({ traceparent: `00-${delivery?.trace}-${delivery?.id}-01` })
  }
})

test('a span ends with the error of its work', async () => {
  const db = await freshDatabase()
  const { observer, ended, spans } = tracer()
  const hooks = testHooks(db, {
    observers: [observer],
    retry: { maxAttempts: 1 },
    outbox: {
      publishers: {
        '*': () => {
          throw new Error('the broker is down')
        },
      },
    },
  })
  hooks.on('test', 'a', async (_event, ctx) => {
    await ctx.effect('call', () => {
      throw new Error('the shop is closed')
    })
  })
  hooks.on('test', 'b', (_event, ctx) => void ctx.publish('told', {}))
  await hooks.start()
  await deliver(hooks, { id: 'evt_a', type: 'a' })
  await deliver(hooks, { id: 'evt_b', type: 'b' })
  await until('all spans have ended', () => ended.length === 6)

  const closed = new Error('the shop is closed')
  expect(spans('effect')[0]?.end).toEqual({ outcome: 'open', error: closed })
  const attempts = new Map(
    spans('attempt').map(({ span, end }) => ['subscriber' in span && span.subscriber, end]),
  )
  // The outcome of the call is unknown, so the job waits for a person.
  expect(attempts.get('a')).toMatchObject({ outcome: 'attention' })
  expect(attempts.get('b')).toEqual({ outcome: 'processed' })
  expect(spans('message')[0]?.end).toEqual({ outcome: 'error', error: new Error('the broker is down') })
})

test('the trace of a delivery reaches the attempt and the message in other processes', async () => {
  const db = await freshDatabase()
  const [received, worked] = [tracer(), tracer()]
  const receiving = testHooks(db, { observers: [received.observer] })
  receiving.on('test', '*', () => undefined)
  await deliver(receiving, { id: 'evt_1', type: 'a' })

  const published: Readonly<Record<string, string>>[] = []
  const working = testHooks(db, {
    observers: [worked.observer],
    outbox: { publishers: { '*': ({ headers }) => void published.push(headers) } },
  })
  working.on('test', '*', (_event, ctx) => {
    ctx.publish('told', {})
    ctx.publish('told', {}, { headers: { Traceparent: 'mine' } })
  })
  await working.start()
  await until('both are published', () => worked.spans('message').length === 2)
  // A message may be published before its run has ended.
  await until('the attempt has ended', () => worked.spans('attempt').length === 1)
  const [delivery] = received.spans('delivery')
  const [attempt] = worked.spans('attempt')
  expect(attempt?.span).toMatchObject({ traceparent: `00-${delivery?.trace}-${delivery?.id}-01` })
  expect(attempt?.trace).toBe(delivery?.trace)
  const ofAttempt = `00-${attempt?.trace}-${attempt?.id}-01`
  const traced = worked.spans('message').find(({ trace }) => trace === attempt?.trace)
  const ofMessage = `00-${traced?.trace}-${traced?.id}-01`
  expect(published).toEqual(expect.arrayContaining([{ traceparent: ofMessage }, { Traceparent: 'mine' }]))
  const contexts = worked.spans('message').map(({ span }) => 'traceparent' in span && span.traceparent)
  expect(contexts.sort()).toEqual([ofAttempt, undefined])
  // It replaces the header of the sender, once.
  expect(await db.rows(`select headers from hookonce.receipt`)).toEqual([
    { headers: expect.stringMatching(/^(?!.*traceparent.*traceparent).*traceparent: 00-/s) },
  ])
})

test("without its own context, an observer gets the sender's, if that is valid", async () => {
  const db = await freshDatabase()
  const seen: Span[] = []
  const observer: Observer = {
    span(span, run) {
      seen.push(span)
      return run()
    },
  }
  const hooks = testHooks(db, { observers: [observer] })
  hooks.on('test', '*', () => undefined)
  await hooks.start()
  const sent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  await deliverTraced(hooks, 'evt_1', sent)
  await until('it is done', () => settled(db, 1))
  await deliverTraced(hooks, 'evt_2', 'not a context')
  await until('both are done', () => settled(db, 2))
  const contexts = seen.map((span) => [span.kind, 'traceparent' in span && span.traceparent])
  expect(contexts).toEqual([
    ['delivery', sent],
    ['attempt', sent],
    ['delivery', undefined],
    ['attempt', undefined],
  ])
})

test('the observer of docs/reference/library.md logs where spans begin and end', async () => {
  const library = readFileSync(new URL('../../../docs/reference/library.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```js\n(.*?spanLog.*?)^```$/ms.exec(library) ?? []
  const { spanLog } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    spanLog: Observer
  }
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  onTestFinished(() => log.mockRestore())
  const db = await freshDatabase()
  const hooks = testHooks(db, { observers: [spanLog] })
  hooks.on('test', '*', async (_event, ctx) => {
    await ctx.effect('call', () => 1)
    throw new Permanent('never')
  })
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await hooks.start()
  await until('all has ended', () => log.mock.calls.length === 6)
  expect(log.mock.calls).toEqual([
    ['delivery 1 begins in nothing'],
    ['delivery 1 ends: 202', ''],
    ['attempt 2 begins in nothing'],
    ['effect 3 begins in attempt 2'],
    ['effect 3 ends: done', ''],
    ['attempt 2 ends: failed', new Permanent('never')],
  ])
})

test('an observer that breaks its spans neither loses nor repeats work', async () => {
  const db = await freshDatabase()
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  onTestFinished(() => warnings.mockRestore())
  const breaking: NonNullable<Observer['span']>[] = [
    () => {
      throw new Error('before')
    },
    (_span, run) => {
      void run()
      throw new Error('after')
    },
    async (_span, run) => {
      await run()
      await run()
      throw new Error('rejected')
    },
    () => new Promise(() => undefined),
    () => undefined,
  ]
  const runs: string[] = []
  const hooks = testHooks(db, {
    observers: breaking.map((span) => ({ span, traceparent: () => 'not\r\na: context' })),
  })
  hooks.on('test', '*', (event) => {
    runs.push(event.key)
    if (event.key === 'evt_2') throw new Permanent('never')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await deliver(hooks, { id: 'evt_2', type: 'a' })
  await until('both are done', () => settled(db, 2))
  expect(runs.sort()).toEqual(['evt_1', 'evt_2'])
  expect(await db.number(`select count(*) from hookonce.receipt where headers like '%traceparent%'`)).toBe(0)
  await until('the faults are reported', () =>
    ['before', 'after', 'rejected', 'not a W3C traceparent'].every((word) =>
      warnings.mock.calls.some(([warning]) => String(warning).includes(word)),
    ),
  )
})
