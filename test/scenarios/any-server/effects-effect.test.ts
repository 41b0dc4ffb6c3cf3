import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { type EffectOptions, NotDone } from '../../../src/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { startDownstream } from '../../support/downstream.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { listening } from '../../support/listening-server.ts'
import { until } from '../../support/until.ts'

const EFFECTS = 'select key, epoch, state::text, mode from hookonce.effect order by key, epoch'
const quick = { retry: { baseDelayMs: 1, maxDelayMs: 1 } }

test('an effect runs once for its key: across attempts, events, subscribers and replays', async () => {
  const db = await freshDatabase()
  const calls: string[] = []
  const results: unknown[] = []
  const hooks = testHooks(db, quick)
  for (const name of ['one', 'two']) {
    hooks.on(
      'test',
      '*',
      async (event, ctx) => {
        const result = await ctx.effect(
          `mail:${event.payload.invoice}`,
          ({ idempotencyKey }) => {
            calls.push(idempotencyKey)
            return { sent: event.key }
          },
          { input: { invoice: event.payload.invoice } },
        )
        results.push(result)
        if (ctx.attempt === 1) throw new Error('after the effect')
      },
      { name },
    )
  }
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a', invoice: 'in_1' })
  await jobsAre(db, 'processed', 2)
  await deliver(hooks, { id: 'evt_2', type: 'a', invoice: 'in_1' })
  await jobsAre(db, 'processed', 4)
  await hooks.replay(id)
  await until('the replay is processed', () =>
    db.number(`select count(*) = 4 from hookonce.job where state = 'processed' and epoch = 0`),
  )
  expect(calls).toHaveLength(1)
  expect(new Set(results.map((result) => JSON.stringify(result)))).toEqual(new Set(['{"sent":"evt_1"}']))
  expect(await db.rows(EFFECTS)).toEqual([{ key: 'mail:in_1', epoch: 0, state: 'done', mode: 'keyed' }])
})

test('two jobs request one effect at once: one runs it, the other waits without using an attempt', async () => {
  const db = await freshDatabase()
  let running = 0
  let most = 0
  let finish = (): void => undefined
  const held = new Promise<void>((resolve) => {
    finish = resolve
  })
  const attempts: number[] = []
  const hooks = testHooks(db, quick).on('test', '*', async (_, ctx) => {
    const result = await ctx.effect('shared', async () => {
      running += 1
      most = Math.max(most, running)
      await held
      running -= 1
      return 'ran'
    })
    attempts.push(ctx.attempt)
    expect(result).toBe('ran')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('the first is at it', () => running === 1)
  await deliver(hooks, { id: 'evt_2', type: 'a' })
  await until('the other waits', () =>
    db.number(`select count(*) from hookonce.job where state = 'retrying' and attempt = 0
      and reason like '%another job is running the effect "shared"%'`),
  )
  finish()
  await jobsAre(db, 'processed', 2)
  expect(most).toBe(1)
  expect(attempts).toEqual([1, 1])
  expect(await hooks.metrics()).toMatch(/hookonce_effect_conflicts_total\{[^}]*\} [1-9]/)
  expect(await db.number('select count(*) from hookonce.attempt')).toBe(0)
})

test('one run that requests an effect twice at once shares one call', async () => {
  const db = await freshDatabase()
  let calls = 0
  const hooks = testHooks(db).on('test', '*', async (_, ctx) => {
    const call = () => ctx.effect('twice', () => ++calls)
    expect(await Promise.all([call(), call()])).toEqual([1, 1])
    expect(await call()).toBe(1)
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(calls).toBe(1)
})

test('one run that requests an effect with two inputs is refused, whichever call declared its input first', async () => {
  const db = await freshDatabase()
  const calls: unknown[] = []
  const faults: unknown[] = []
  const hooks = testHooks(db).on(
    'test',
    '*',
    async (_, ctx) => {
      const charge = (input?: number) =>
        ctx
          .effect('charge', () => void calls.push(input), input === undefined ? {} : { input })
          .catch((error) => faults.push(error.code))
      await charge()
      await Promise.all([charge(10), charge(99)])
      await charge(10)
      throw new Error('enough')
    },
    { retry: { maxAttempts: 1 } },
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(calls).toEqual([undefined])
  expect(faults).toEqual(['EFFECT_INPUT_CHANGED'])
})

/** The call of the first attempt happens and its reply is lost. Later calls succeed. */
async function lostReply(options: EffectOptions, between?: (db: TestDatabase) => Promise<unknown>) {
  const db = await freshDatabase()
  const other = await startDownstream()
  other.reply('/mail', 'cut')
  const hooks = testHooks(db, quick).on('test', '*', async (_, ctx) => {
    if (ctx.attempt > 1) await between?.(db)
    await ctx.effect(
      'mail',
      async ({ fetch }) => (await fetch(`${other.url}/mail`, { method: 'POST', body: 'hello' })).json(),
      options,
    )
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  return { db, other, hooks }
}

test('keyed: a call whose reply was lost is repeated with the same key, and the service acts once', async () => {
  const { db, other } = await lostReply({})
  await jobsAre(db, 'processed')
  expect(other.calls.map(({ acted }) => acted)).toEqual([true, false])
  expect(new Set(other.calls.map(({ key }) => key)).size).toBe(1)
  expect(await db.rows('select downstream_key from hookonce.effect')).toEqual([
    { downstream_key: other.calls[0]?.key },
  ])
})

test('keyed: if the service may have forgotten the key, a lost reply is unknown', async () => {
  const { db, other } = await lostReply({ downstreamTtlMs: 60_000 }, (db) =>
    db.rows(`update hookonce.effect set started_at = started_at - interval '2 minutes'`),
  )
  await jobsAre(db, 'attention')
  expect(other.calls).toHaveLength(1)
  expect(await db.rows(EFFECTS)).toMatchObject([{ state: 'unknown' }])
})

test('atMostOnce: a lost reply is unknown, and the call is never repeated', async () => {
  const { db, other, hooks } = await lostReply({ mode: 'atMostOnce' })
  await jobsAre(db, 'attention')
  expect(other.calls).toHaveLength(1)
  expect(await db.rows('select state::text, reason, worker from hookonce.job')).toEqual([
    { state: 'attention', reason: expect.stringContaining('effect "mail": it was called'), worker: null },
  ])
  expect(await db.rows('select outcome from hookonce.attempt order by fence')).toEqual([
    { outcome: 'retrying' },
    { outcome: 'attention' },
  ])
  const text = await until('it is counted', async () => {
    const metrics = await hooks.metrics()
    return metrics.includes('hookonce_attention_total{source="test",subscriber="*"} 1') ? metrics : undefined
  })
  expect(text).toContain('hookonce_effects_unknown{source="test",subscriber="*"} 1')
  expect(text).toContain('hookonce_jobs_attention{source="test",subscriber="*"} 1')
})

test('atLeastOnce: a call whose reply was lost is repeated', async () => {
  const { db, other } = await lostReply({ mode: 'atLeastOnce' })
  await jobsAre(db, 'processed')
  expect(other.calls).toHaveLength(2)
})

test.each([
  { answer: { outcome: 'done', result: 'as told' }, calls: 1, state: 'processed', epochs: ['done'] },
  { answer: { outcome: 'unknown' }, calls: 1, state: 'attention', epochs: ['unknown'] },
  { answer: { outcome: 'not done' }, calls: 2, state: 'processed', epochs: ['done'] },
] as const)(
  'reconcile answers $answer.outcome: $calls calls, the job is $state',
  async ({ answer, calls, state, epochs }) => {
    const asked: unknown[] = []
    const { db, other } = await lostReply({
      mode: 'atMostOnce',
      reconcile: async ({ idempotencyKey, calledAt }) => {
        asked.push([idempotencyKey, calledAt instanceof Date])
        return answer
      },
    })
    await jobsAre(db, state)
    expect(asked).toEqual([[other.calls[0]?.key, true]])
    expect(other.calls).toHaveLength(calls)
    expect((await db.rows<{ state: string }>(EFFECTS)).map((row) => row.state)).toEqual(epochs)
    // The called service can still recognise a late caller.
    expect(new Set(other.calls.map(({ key }) => key)).size).toBe(1)
  },
)

/** A charge that the called service answers with these statuses in turn, and then with 200. */
async function charged(...statuses: number[]) {
  const db = await freshDatabase()
  const other = await startDownstream()
  other.reply('/charge', ...statuses)
  const hooks = testHooks(db, quick).on('test', '*', async (_, ctx) => {
    await ctx.effect('charge', async ({ fetch }) => {
      await fetch(`${other.url}/charge`, { method: 'POST' })
    })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  return { db, calls: other.calls }
}

test('only a definitive reply is a failure: then the next attempt is another epoch with another key', async () => {
  const { db, calls } = await charged(402, 503)
  expect(await db.rows('select epoch, state::text, reason from hookonce.effect order by epoch')).toEqual([
    { epoch: 0, state: 'failed', reason: expect.stringContaining('/charge answered 402') },
    { epoch: 1, state: 'done', reason: null },
  ])
  const [refused, undecided, done] = calls
  expect(undecided?.key).not.toBe(refused?.key)
  expect(done?.key).toBe(undecided?.key)
})

test('a refusal of the second call proves nothing about the first, whose reply was lost: the key stays', async () => {
  const { db, calls } = await charged(503, 401)
  expect(calls).toHaveLength(3)
  expect(new Set(calls.map(({ key }) => key)).size).toBe(1)
  expect(await db.rows(EFFECTS)).toMatchObject([{ epoch: 0, state: 'done' }])
})

test('NotDone reports a definitive refusal of your own client', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (_, ctx) =>
    ctx.effect('own', () => {
      throw new NotDone('the card was declined')
    }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select state::text, reason from hookonce.effect')).toEqual([
    { state: 'failed', reason: 'the card was declined' },
  ])
})

test('a key that is used for another input is refused, and a result that cannot be kept does not undo the effect', async () => {
  const db = await freshDatabase()
  const seen: unknown[] = []
  let calls = 0
  const hooks = testHooks(db, quick).on('test', '*', async (event, ctx) => {
    if (event.type === 'large') {
      seen.push(await ctx.effect('large', () => `${++calls}${'x'.repeat(70_000)}`))
      return
    }
    await ctx.effect('same', () => 1, { input: event.payload.amount }).catch((error) => seen.push(error))
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a', amount: 1 })
  await jobsAre(db, 'processed', 1)
  await deliver(hooks, { id: 'evt_2', type: 'a', amount: 2 })
  await jobsAre(db, 'processed', 2)
  expect(seen).toEqual([expect.objectContaining({ code: 'EFFECT_INPUT_CHANGED' })])
  const id = await deliver(hooks, { id: 'evt_3', type: 'large' })
  await jobsAre(db, 'failed', 1)
  expect(await db.rows(`select error from hookonce.attempt`)).toEqual([
    { error: expect.stringContaining('STEP_RESULT_TOO_LARGE') },
  ])
  // The effect has happened: a replay does not call again, and has no result to return.
  await hooks.replay(id)
  await jobsAre(db, 'processed', 3)
  expect(calls).toBe(1)
  expect(seen[1]).toBeUndefined()
})

const circular: Record<string, unknown> = {}
circular.self = { again: circular }

test.each([
  { result: { text: '😀'.slice(0, 1) }, says: 'holds half a surrogate pair at "text"' },
  { result: { 'a\0b': 1 }, says: 'holds a NUL character in a key' },
  { result: { list: [{ '\ud83d': 1 }] }, says: 'holds half a surrogate pair in a key at "list.0"' },
  { result: circular, says: 'holds itself at "self.again"' },
])('an effect has happened, for any return value: $says', async ({ result, says }) => {
  const db = await freshDatabase()
  let calls = 0
  const hooks = testHooks(db, quick).on('test', '*', async (_, ctx) => {
    await ctx.effect(
      'mail',
      () => {
        calls += 1
        return result
      },
      { mode: 'atMostOnce' },
    )
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(calls).toBe(1)
  expect(await db.rows('select state::text, reason from hookonce.effect')).toEqual([
    { state: 'done', reason: expect.stringContaining(says) },
  ])
})

test('a result that the database refuses is left out, and the effect is done', async () => {
  const db = await freshDatabase()
  await db.rows(`
    create function refuse() returns trigger language plpgsql as $$
    begin
      if new.result is not null then raise exception 'not this' using errcode = '22P05'; end if;
      return new;
    end $$;
    create trigger refuse before update on hookonce.effect for each row execute function refuse();`)
  const hooks = testHooks(db, quick).on('test', '*', (_, ctx) => ctx.effect('mail', () => 'sent'))
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select state::text, result, reason from hookonce.effect')).toEqual([
    { state: 'done', result: null, reason: expect.stringContaining('RESULT_NOT_JSON') },
  ])
})

test('a definite refusal stays one, with any characters in it', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (_, ctx) =>
    ctx.effect(
      'charge',
      () => {
        throw new NotDone('answered 422: bad\0body \ud83d')
      },
      { mode: 'atMostOnce' },
    ),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select state::text, reason from hookonce.effect')).toEqual([
    { state: 'failed', reason: 'answered 422: bad\ufffdbody \ufffd' },
  ])
})

test('nothing is called under a stale fence', async () => {
  const db = await freshDatabase()
  let called = false
  let fault: unknown
  const hooks = testHooks(db).on('test', '*', async (_, ctx) => {
    await db.rows('update hookonce.job set fence = fence + 1')
    await ctx
      .effect('late', () => {
        called = true
      })
      .catch((error) => {
        fault = error
      })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it was refused', () => fault)
  expect(fault).toMatchObject({ code: 'LEASE_LOST' })
  expect(called).toBe(false)
  expect(await db.number('select count(*) from hookonce.effect')).toBe(0)
})

test('ctx.fetch makes a call once, gives its reply again, and refuses another request under the same key', async () => {
  const db = await freshDatabase()
  const other = await startDownstream()
  const seen: unknown[] = []
  const hooks = testHooks(db, quick).on('test', '*', async (event, ctx) => {
    const reply = await ctx.fetch(`${other.url}/mail`, {
      effect: 'mail:1',
      method: 'POST',
      body: JSON.stringify({ to: event.payload.to }),
    })
    seen.push([reply.status, reply.headers.get('content-type'), await reply.json()])
    if (ctx.attempt === 1) throw new Error('after the call')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a', to: 'ann' })
  await jobsAre(db, 'processed')
  expect(seen).toEqual([
    [200, 'application/json', { call: 1 }],
    [200, 'application/json', { call: 1 }],
  ])
  await deliver(hooks, { id: 'evt_2', type: 'a', to: 'bob' })
  await until('the other is refused', () =>
    db.number(`select count(*) from hookonce.attempt where error like 'EFFECT_INPUT_CHANGED%'`),
  )
  expect(other.calls).toHaveLength(1)
})

test('ctx.fetch: a reply that is too late is unknown, not a failure', async () => {
  const db = await freshDatabase()
  const other = await startDownstream()
  other.reply('/mail', 'hang')
  const hooks = testHooks(db, quick).on('test', '*', (_, ctx) =>
    ctx.fetch(`${other.url}/mail`, { effect: 'mail', mode: 'atMostOnce', method: 'POST', timeoutMs: 500 }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'attention')
  expect(other.calls).toHaveLength(1)
  expect(await db.rows(`select error from hookonce.attempt where outcome = 'retrying'`)).toEqual([
    { error: expect.stringContaining('REPLY_LOST') },
  ])
})

test('a job does not fail while the outcome of its call is unknown', async () => {
  const db = await freshDatabase()
  const other = await startDownstream()
  other.reply('/mail', 'cut', 'cut')
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxAttempts: 2 } }).on('test', '*', (event, ctx) =>
    ctx.fetch(`${other.url}/mail`, { effect: 'mail', mode: event.type as 'keyed', method: 'POST' }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'keyed' })
  await jobsAre(db, 'attention')
  expect(await db.rows('select reason from hookonce.job')).toEqual([
    { reason: expect.stringContaining('its job has no attempts left') },
  ])
  await hooks.attention.retrySameKey('mail', { by: 'ann', why: 'it is up again' })
  await jobsAre(db, 'processed')
  expect(other.acted('/mail')).toBe(1)
  expect(other.calls).toHaveLength(3)
})

test('a handler that catches its reason to stop is still stopped', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, quick).on('test', '*', async (_, ctx) => {
    await ctx
      .effect(
        'mail',
        () => {
          throw new Error('lost')
        },
        { mode: 'atMostOnce' },
      )
      .catch(() => undefined)
    if (ctx.attempt === 1) throw new Error('again')
    ctx.write({ text: 'insert into effect (type) values ($1)', values: ['written'] })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'attention')
  expect(await db.number('select count(*) from effect')).toBe(0)
})

test.each([
  { name: 'a URL that is none', url: 'mail.example/send', init: {} },
  { name: 'a scheme that is not HTTP', url: 'ftp://mail.example/send', init: {} },
  { name: 'a header that cannot be sent', url: 'http://127.0.0.1:9/', init: { headers: { to: 'a\nb' } } },
  { name: 'a GET with a body', url: 'http://127.0.0.1:9/', init: { body: 'x' } },
  { name: 'a time-out of nothing', url: 'http://127.0.0.1:9/', init: { timeoutMs: 0 } },
])('ctx.fetch of $name sends nothing: the effect is failed, not unknown', async ({ url, init }) => {
  const db = await freshDatabase()
  const hooks = testHooks(db, quick).on('test', '*', (_, ctx) =>
    ctx.fetch(url, { effect: 'mail', mode: 'atMostOnce', ...init }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select attempt, reason from hookonce.job')).toEqual([
    { attempt: 1, reason: expect.stringContaining('CONFIG_INVALID') },
  ])
  expect(await db.rows(EFFECTS)).toMatchObject([{ state: 'failed' }])
})

/** Sends more than any client reads, until the client disconnects. */
async function endlessServer(status: number) {
  let sent = 0
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  const server = createServer((_, response) => {
    response.writeHead(status)
    const more = (): void => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length
    }
    response.on('drain', more)
    more()
  })
  return { url: `${await listening(server)}/`, sent: () => sent }
}

test('a reply without end is read up to a limit: its status counts, its body is not kept', async () => {
  const db = await freshDatabase()
  const { url, sent } = await endlessServer(200)
  const seen: unknown[] = []
  const hooks = testHooks(db, quick).on('test', '*', async (_, ctx) => {
    const reply = await ctx.fetch(url, { effect: 'fetched', method: 'POST' })
    seen.push(reply.status, await reply.text())
    const status = await ctx.effect('called', async ({ fetch }) => {
      const answer = await fetch(url, { method: 'POST' })
      seen.push(await answer.text().catch(String))
      return answer.status
    })
    seen.push(status)
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  expect(seen).toEqual([200, '', expect.stringContaining('larger than 10485760 bytes'), 200])
  expect(sent()).toBeLessThan(100 * 1024 * 1024)
})

test('an endless refusal is quoted, and its connection closed', async () => {
  const db = await freshDatabase()
  const { url } = await endlessServer(422)
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (_, ctx) =>
    ctx.fetch(url, { effect: 'mail', method: 'POST', mode: 'atMostOnce' }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select state::text, reason from hookonce.effect')).toEqual([
    { state: 'failed', reason: expect.stringMatching(/answered 422: x{300}$/) },
  ])
})
