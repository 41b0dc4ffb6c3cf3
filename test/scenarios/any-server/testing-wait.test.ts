import { expect, test } from 'vitest'
import { RetryAfter } from '../../../src/index.ts'
import { kit, unstarted } from '../../support/kit.ts'

test('waitFor finds the job whose run ended in the state, not another job of the event', async () => {
  const hooks = unstarted()
    .on('test', 'paid', () => undefined, { name: 'a' })
    .on(
      'test',
      'paid',
      (_, ctx) => {
        if (ctx.attempt === 1) throw new RetryAfter(60_000, 'later')
      },
      { name: 'b' },
    )
  const t = await kit(hooks)
  await t.deliver('test', 'paid')
  await t.settled()
  expect(await t.waitFor({ state: 'retrying' })).toMatchObject({
    subscriber: 'b',
    state: 'retrying',
    attempt: 1,
  })
  expect(await t.jobs()).toMatchObject([
    { subscriber: 'a', state: 'processed' },
    { subscriber: 'b', state: 'processed', attempt: 2 },
  ])
})

test('waitFor finds each state that a finished job was in', async () => {
  const t = await kit(unstarted().on('test', 'paid', () => undefined))
  await t.deliver('test', 'paid')
  await t.settled()
  for (const state of ['received', 'processing', 'processed'] as const)
    expect(await t.waitFor({ type: 'paid', state })).toMatchObject({ state, eventType: 'paid' })
  await expect(t.waitFor({ state: 'failed' }, { timeoutMs: 50 })).rejects.toThrow(
    /test paid evt_\S+ → paid: processed, attempt 1/,
  )
})

test('a planned failure is sent although the service has acted on the key', async () => {
  const t = await kit(unstarted().on('test', 'paid', () => undefined))
  t.downstream.reply('/mails', 'lose', 503)
  const post = (): Promise<Response> =>
    fetch(`${t.downstream.url}/mails`, { method: 'POST', headers: { 'idempotency-key': 'k' } })
  await expect(post()).rejects.toThrow()
  expect((await post()).status).toBe(503)
  expect((await post()).status).toBe(200)
  expect(t.downstream.calls('/mails').map(({ acted }) => acted)).toEqual([true, false, false])
})
