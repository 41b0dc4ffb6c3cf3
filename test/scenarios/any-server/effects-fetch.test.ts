import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { startDownstream } from '../../support/downstream.ts'
import { EFFECTS, QUICK_RETRIES } from '../../support/effect-records.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { listening } from '../../support/listening-server.ts'
import { until } from '../../support/until.ts'

test('ctx.fetch makes a call once, gives its reply again, and refuses another request under the same key', async () => {
  const db = await freshDatabase()
  const other = await startDownstream()
  const seen: unknown[] = []
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', async (event, ctx) => {
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
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', (_, ctx) =>
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

test.each([
  { name: 'a URL that is none', url: 'mail.example/send', init: {} },
  { name: 'a scheme that is not HTTP', url: 'ftp://mail.example/send', init: {} },
  { name: 'a header that cannot be sent', url: 'http://127.0.0.1:9/', init: { headers: { to: 'a\nb' } } },
  { name: 'a GET with a body', url: 'http://127.0.0.1:9/', init: { body: 'x' } },
  { name: 'a time-out of nothing', url: 'http://127.0.0.1:9/', init: { timeoutMs: 0 } },
])('ctx.fetch of $name sends nothing: the effect is failed, not unknown', async ({ url, init }) => {
  const db = await freshDatabase()
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', (_, ctx) =>
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
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', async (_, ctx) => {
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
