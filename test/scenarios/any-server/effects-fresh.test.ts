import { expect, test } from 'vitest'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { INSERT_EFFECT } from '../../support/effect-table.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

const asked = { by: 'ann', why: 'the mail had the wrong amount' }

/**
 * One event with every kind of work that happens once, and another event that only requests its
 * effect.
 */
async function processedOnce() {
  const db = await freshDatabase()
  const ran: string[] = []
  const keys: string[] = []
  const hooks = testHooks(db).on(
    'test',
    '*',
    async (event, ctx) => {
      keys.push(ctx.idempotencyKey('plain'))
      await ctx.step('step', () => void ran.push(`step ${event.key}`))
      await ctx.transaction((tx) => tx.query(INSERT_EFFECT, [event.receiptId, 'transaction']), { name: 'tx' })
      await ctx.effect('mail:1', ({ idempotencyKey }) => void ran.push(`mail ${event.key} ${idempotencyKey}`))
      ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, 'write'] })
    },
    { name: 'app' },
  )
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed', 1)
  const other = await deliver(hooks, { id: 'evt_2', type: 'a' })
  await jobsAre(db, 'processed', 2)
  const again = async (count: number) =>
    until('all is processed', async () => {
      const done = await db.number(`select count(*) from hookonce.job where state = 'processed'`)
      return done === 2 && keys.length === count
    })
  return { db, hooks, id, other, ran, keys, again }
}

test('a replay repeats nothing; a fresh one does all of it again, once, with new keys, and is audited', async () => {
  const { db, hooks, id, ran, keys, again } = await processedOnce()
  const before = [...ran]
  await hooks.replay(id)
  await again(3)
  expect(ran).toEqual(before)
  expect(await db.number('select count(*) from effect where receipt_id = $1', [id])).toBe(2)

  expect(await hooks.planFresh(id)).toEqual({
    receiptId: id,
    jobs: [
      {
        subscriber: 'app',
        state: 'processed',
        steps: ['step', 'tx', '(write)'],
        effects: [{ key: 'mail:1', mode: 'keyed', state: 'done' }],
        messages: [],
      },
    ],
  })
  expect(await hooks.replay(id, { fresh: asked })).toEqual({ receiptId: id, jobs: 1 })
  await again(4)
  await hooks.replay(id)
  await again(5)
  expect(ran).toHaveLength(before.length + 2)
  expect(new Set(ran).size).toBe(ran.length - 1)
  expect(await db.number('select count(*) from effect where receipt_id = $1', [id])).toBe(4)
  const [first, , replayed, fresh, afterwards] = keys
  expect(replayed).toBe(first)
  expect(fresh).not.toBe(first)
  expect(afterwards).toBe(fresh)
  expect(await db.rows('select epoch, state::text from hookonce.effect order by epoch')).toEqual([
    { epoch: 0, state: 'done' },
    { epoch: 1, state: 'done' },
  ])
  expect(await db.rows('select actor, action, why, subject from hookonce.audit')).toEqual([
    { actor: 'ann', action: 'replay-fresh', why: asked.why, subject: id },
  ])
})

test('a fresh replay of one event does not repeat an effect that another event ran', async () => {
  const { db, hooks, other, ran, again } = await processedOnce()
  await hooks.replay(other, { fresh: asked })
  await again(3)
  expect(ran.filter((what) => what.startsWith('mail'))).toHaveLength(1)
  expect(ran.filter((what) => what === 'step evt_2')).toHaveLength(2)
  expect(await db.number('select count(*) from hookonce.effect')).toBe(1)
})

test('the command line lists the work that would be repeated, and requires a reason and a confirmation', async () => {
  const { db, id, again, ran } = await processedOnce()
  const env = { DATABASE_URL: db.url }
  const plan = await cli(['replay', id, '--fresh', '--dry-run'], env)
  expect(plan.code).toBe(0)
  for (const said of ['step', 'tx', '(write)', 'mail:1', 'effect, keyed']) expect(plan.stdout).toContain(said)
  const silent = await cli(['replay', id, '--fresh', '--yes'], env)
  expect(silent).toMatchObject({ code: 1, stderr: expect.stringContaining('--why') })
  const unasked = await cli(['replay', id, '--fresh', '--why', 'wrong amount'], env)
  expect(unasked).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no terminal to confirm at: give --yes'),
  })
  expect(unasked.stderr).toContain('mail:1')
  expect(await cli(['replay', '--failed', '--fresh'], env)).toMatchObject({ code: 1 })
  expect(ran).toHaveLength(3)

  const done = await cli(['replay', id, '--fresh', '--why', 'wrong amount', '--by', 'bob', '--yes'], env)
  expect(done).toMatchObject({ code: 0, stdout: `1 job of ${id} received afresh\n` })
  await again(3)
  expect((await cli(['show', id], env)).stdout).toMatch(/bob\s+replay-fresh/)
})

test('a plan lists the messages of the current epoch, which a fresh replay sends again', async () => {
  const db = await freshDatabase()
  const sent: string[] = []
  const hooks = testHooks(db, {
    outbox: { publishers: { '*': (message) => void sent.push(`${message.topic} ${message.id}`) } },
  }).on(
    'test',
    '*',
    async (_, ctx) => {
      await ctx.transaction(async (tx) => void tx.publish('paid', { n: 1 }, { key: 'in_1' }))
      ctx.publish('mailed', { n: 2 })
    },
    { name: 'app' },
  )
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('both are sent', () => sent.length === 2)
  const planned = async () => (await hooks.planFresh(id)).jobs[0]?.messages ?? []
  await until('both are published', async () => (await planned()).every(({ state }) => state === 'published'))
  const first = await planned()
  expect(first.map(({ topic, key }) => ({ topic, key }))).toEqual([
    { topic: 'paid', key: 'in_1' },
    { topic: 'mailed', key: null },
  ])
  const shown = await cli(['replay', id, '--fresh', '--dry-run'], { DATABASE_URL: db.url })
  expect(shown.stdout).toMatch(/app\s+message\s+paid in_1\s+published/)
  expect(shown.stdout).toMatch(/app\s+message\s+mailed\s+published/)

  await hooks.replay(id, { fresh: asked })
  await until('both are sent again', () => sent.length === 4)
  expect(new Set(sent).size).toBe(4)
  const second = await planned()
  expect(second).toHaveLength(2)
  expect(second.filter((message) => first.some(({ id }) => id === message.id))).toEqual([])
})

test('an effect continues past 32,767 epochs; a job that was replayed afresh so often is refused', async () => {
  const { db, hooks, id, again } = await processedOnce()
  await db.rows(
    `insert into hookonce.effect
     select (jsonb_populate_record(e, '{"epoch": 32767, "state": "failed"}')).* from hookonce.effect e`,
  )
  await db.rows('update hookonce.job set epoch = 32766')
  await hooks.replay(id, { fresh: asked })
  await again(3)
  expect(await db.rows('select epoch, state::text from hookonce.effect order by epoch')).toEqual([
    { epoch: 0, state: 'done' },
    { epoch: 32767, state: 'failed' },
    { epoch: 32768, state: 'done' },
  ])
  await expect(hooks.replay(id, { fresh: asked })).rejects.toThrow(
    /"app" on receipt .* was replayed with `fresh` 32767 times/,
  )
})
