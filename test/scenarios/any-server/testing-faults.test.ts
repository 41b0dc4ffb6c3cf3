import { expect, test } from 'vitest'
import type { Context } from '../../../src/index.ts'
import type { CrashPoint, TestHooks } from '../../../src/testing/index.ts'
import { kit, unstarted } from '../../support/kit.ts'
import type { testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

type Kit = TestHooks<{ test: ReturnType<typeof testSource> }>

const PAY = 'insert into payments (invoice) values ($1)'
const PLAIN_PAY = 'insert into mails (invoice) values ($1)'

/** A correct handler: a step, a keyed call, and writes that commit with the completion. */
function correct(url: () => string) {
  return unstarted().on('test', 'paid', async (event, ctx) => {
    const invoice = String(event.payload.invoice)
    await ctx.step('look up', () => ({ amount: 5 }))
    await ctx.transaction((tx) => tx.query(PAY, [invoice]))
    await ctx.effect(`mail:${invoice}`, async ({ fetch }) => {
      await fetch(`${url()}/mail`, { method: 'POST', body: invoice })
    })
    ctx.write({ text: PLAIN_PAY, values: [invoice] })
  })
}

test.each<CrashPoint>(['step:look up', 'effect:mail:*', 'write', 'commit', 'ack'])(
  'a crash at %s leaves what a dead process leaves, and the next process finishes',
  async (point) => {
    let t: Kit | undefined
    t = await kit(correct(() => t?.downstream.url ?? ''))
    const crash = t.crashAt(point)
    const { statuses } = await t.deliver('test', 'paid', { invoice: 'in_1' })
    await t.settled()
    expect(crash.wasReached).toBe(true)
    expect(statuses).toEqual(point === 'ack' ? [undefined, 200] : [202])
    expect(await t.rows('payments')).toEqual([{ invoice: 'in_1', amount: 0 }])
    expect(await t.rows('mails')).toHaveLength(1)
    expect(t.downstream.at('/mail').happened).toBe(1)
    expect(new Set(t.downstream.calls('/mail').map(({ key }) => key)).size).toBe(1)
    expect(t.downstream.calls('/mail')).toHaveLength(point === 'effect:mail:*' ? 2 : 1)
    expect(await t.effects('mail:in_1')).toMatchObject({ happened: 1, records: [{ state: 'done' }] })
    expect(await t.jobs()).toMatchObject([{ state: 'processed' }])
  },
)

test('a crash at the second commit is after the writes that the completion commits', async () => {
  let t: Kit | undefined
  t = await kit(correct(() => t?.downstream.url ?? ''))
  const crash = t.crashAt('commit', { time: 2 })
  await t.deliver('test', 'paid', { invoice: 'in_1' })
  await t.settled()
  await t.waitFor({ state: 'processed' })
  await until('it crashes', () => crash.wasReached)
  await t.settled()
  expect(await t.rows('mails')).toHaveLength(1)
})

test('ctx.fetch and ctx.latest have the same points', async () => {
  let t: Kit | undefined
  const hooks = unstarted().on('test', 'changed', async (event, ctx) => {
    await ctx.fetch(`${t?.downstream.url}/sync`, { method: 'POST', effect: 'sync:1', body: 'x' })
    await ctx.latest('invoice:1', Number(event.payload.version), (tx) =>
      tx.query('insert into invoices (id, status) values ($1, $2)', ['1', 'open']),
    )
  })
  t = await kit(hooks)
  t.crashAt('effect:sync:1')
  t.crashAt('write')
  t.crashAt('commit')
  await t.deliver('test', 'changed', { version: 1 })
  await t.settled()
  expect(t.downstream.calls('/sync')).toHaveLength(2)
  expect(t.downstream.at('/sync').happened).toBe(1)
  expect(await t.rows('invoices')).toEqual([{ id: '1', status: 'open' }])
})

test('the other faults of a service: refused, down, lost, hanging', async () => {
  let t: Kit | undefined
  const hooks = unstarted().on('test', 'paid', async (_, ctx) => {
    await ctx.fetch(`${t?.downstream.url}/mail`, {
      method: 'POST',
      effect: 'mail:1',
      body: 'x',
      // A timeout that is also enough for answering processes on a busy machine.
      timeoutMs: 2_000,
    })
  })
  t = await kit(hooks)
  t.downstream.reply('/mail', 503, 'down', 'lose', 'hang')
  await t.deliver('test', 'paid')
  await t.settled({ timeoutMs: 20_000 })
  expect(t.downstream.calls('/mail').map(({ acted }) => acted)).toEqual([false, false, true, false, false])
  expect(t.downstream.at('/mail').happened).toBe(1)
  expect(await t.jobs()).toMatchObject([{ state: 'processed' }])
})

const STALE_WAYS: Record<string, (ctx: Context) => Promise<unknown>> = {
  'a transaction': (ctx) => ctx.transaction((tx) => tx.query(PAY, ['in_1'])),
  'a step': async (ctx) => {
    await ctx.step('any', () => 1)
    ctx.write({ text: PAY, values: ['in_1'] })
  },
}

test.each(Object.keys(STALE_WAYS))(
  'after a lost lease, the writes of the first run change nothing: %s',
  async (way) => {
    const ended: string[] = []
    let runs = 0
    const hooks = unstarted().on('test', 'paid', async (_, ctx) => {
      const run = ++runs
      await STALE_WAYS[way]?.(ctx).then(
        () => ended.push(`run ${run} went on`),
        (error: { code?: string }) => {
          ended.push(`run ${run}: ${error.code}`)
          throw error
        },
      )
    })
    const t = await kit(hooks)
    await t.loseLease({ at: way === 'a step' ? 'step:any' : 'write' })
    await t.deliver('test', 'paid')
    await t.settled()
    await until('both runs have ended', () => ended.length === 2)
    expect(ended.toSorted()).toEqual(['run 1: LEASE_LOST', 'run 2 went on'])
    expect(await t.rows('payments')).toHaveLength(1)
  },
)

test('a frozen process that wakes up finds its work done, and repeats none of it', async () => {
  let t: Kit | undefined
  t = await kit(correct(() => t?.downstream.url ?? ''))
  const frozen = await t.freeze({ at: 'effect:mail:*' })
  await t.deliver('test', 'paid', { invoice: 'in_1' })
  await t.settled()
  expect(await t.rows('mails')).toHaveLength(1)
  frozen.thaw()
  await t.deliver('test', 'paid', { invoice: 'in_2' })
  await t.settled()
  expect(await t.rows('mails')).toHaveLength(2)
  expect(await t.rows('payments')).toHaveLength(2)
  expect(t.downstream.at('/mail').happened).toBe(2)
})

test('freeze() and loseLease() without a point happen at once', async () => {
  const t = await kit(unstarted().on('test', '*', (_, ctx) => ctx.write({ text: PAY, values: ['in_1'] })))
  const frozen = await t.freeze()
  await t.loseLease()
  await t.deliver('test', 'paid')
  await t.settled()
  frozen.thaw()
  expect(await t.jobs()).toMatchObject([{ state: 'processed' }])
})

test('a point that no run reaches fails the test, because it has proved nothing', async () => {
  const t = await kit(unstarted().on('test', '*', () => undefined))
  t.crashAt('effect:mistyped')
  await t.deliver('test', 'paid')
  await t.settled()
  await expect(t.close()).rejects.toThrow("crashAt('effect:mistyped') was never reached")
})
