import { expect, test } from 'vitest'
import { kit, unstarted } from '../../support/kit.ts'

const PAY = 'insert into payments (invoice) values ($1)'

test('copies, one by one and at once, are one event; each is answered', async () => {
  const hooks = unstarted().on('test', 'paid', (event, ctx) =>
    ctx.write({ text: PAY, values: [event.payload.invoice], rows: 1 }),
  )
  const t = await kit(hooks)
  const delivered = await t.deliver('test', 'paid', { invoice: 'in_1' }, { times: 3 })
  expect(delivered.statuses).toEqual([202, 200, 200])
  const together = await t.deliver('test', 'paid', { invoice: 'in_2' }, { times: 5, concurrently: true })
  expect(together.statuses.toSorted()).toEqual([200, 200, 200, 200, 202])
  await t.settled()
  expect(await t.rows('payments')).toEqual([
    { invoice: 'in_1', amount: 0 },
    { invoice: 'in_2', amount: 0 },
  ])
  expect(await t.jobs()).toMatchObject([
    { eventKey: delivered.key, state: 'processed', attempt: 1 },
    { eventKey: together.key, state: 'processed', attempt: 1 },
  ])
})

test('time moves for retries, signatures and retention, and for the tables of the user', async () => {
  let failures = 3
  const hooks = unstarted({ retention: { bodyDays: 1, keyDays: 30 } }).on(
    'test',
    'paid',
    async (event, ctx) => {
      if (failures-- > 0) throw new Error('not yet')
      await ctx.transaction((tx) =>
        tx.query('insert into mails (invoice) values ($1)', [event.payload.invoice]),
      )
    },
  )
  const t = await kit(hooks)
  const began = t.clock.now().getTime()
  const first = await t.deliver('test', 'paid', { invoice: 'in_1' }, { key: 'evt_1' })
  await t.waitFor({ type: 'paid', state: 'retrying' })
  await t.settled()
  expect(await t.jobs()).toMatchObject([{ state: 'processed', attempt: 4 }])
  const moved = t.clock.now().getTime() - began
  expect(moved).toBeGreaterThan(500)

  await t.clock.advance('10d')
  const again = await t.deliver('test', 'paid', { invoice: 'in_1' }, { key: 'evt_1' })
  expect(again.statuses).toEqual([200])
  expect((await t.pool.query('select body from hookonce.receipt')).rows).toEqual([{ body: null }])
  await t.deliver('test', 'paid', { invoice: 'in_2' })
  await t.settled()
  const [one, two] = await t.rows<{ at: Date }>('mails')
  expect(Number(two?.at) - Number(one?.at)).toBeGreaterThan(10 * 24 * 3_600_000)
  // After the retention of its key, an event counts as new.
  await t.clock.advance('30d')
  const late = await t.deliver('test', 'paid', { invoice: 'in_1' }, { key: 'evt_1' })
  expect(late.statuses).toEqual([202])
  expect(late.receiptId).toBe(first.receiptId)
  await t.settled()
  // It can also be awaited after it has happened.
  expect(await t.waitFor({ key: 'evt_1', state: 'processed' })).toMatchObject({ eventType: 'paid' })
})

test('settled() ends when jobs wait for a person or have failed, and otherwise names the unfinished work', async () => {
  let release: () => void = () => undefined
  const hooks = unstarted({ retry: { maxAttempts: 2 } })
    .on('test', 'bad', () => Promise.reject(new Error('never')))
    .on('test', 'held', () => new Promise<void>((resolve) => (release = resolve)))
  const t = await kit(hooks)
  await t.deliver('test', 'bad')
  await t.settled()
  expect(await t.jobs()).toMatchObject([
    { state: 'failed', attempt: 2, reason: expect.stringContaining('never') },
  ])
  await t.deliver('test', 'held')
  await expect(t.settled({ timeoutMs: 200 })).rejects.toThrow(
    /did not settle in 200 ms; the jobs:\n.*\n.*held: processing/,
  )
  release()
  await t.settled()
})

test('a lost reply, a forged body, an old signature', async () => {
  const t = await kit(unstarted().on('test', '*', () => undefined))
  const lost = await t.deliver('test', 'paid', {}, { loseReply: true })
  expect(lost.statuses).toEqual([undefined, 200])
  const forged = await t.deliver('test', 'paid', {}, { tamper: 'body' })
  expect(forged).toMatchObject({ statuses: [401], code: 'SIGNATURE_MISMATCH', receiptId: undefined })
  expect((await t.deliver('test', 'paid', {}, { tamper: 'signature' })).status).toBe(401)
  await t.settled()
  expect(await t.jobs()).toHaveLength(1)
})

test('events of one object in another order', async () => {
  const seen: string[] = []
  const t = await kit(unstarted().on('test', '*', (event) => void seen.push(event.type)))
  const events = await t.deliver('test', ['a', 'b', 'c'], {}, { reorder: true, delay: '1h' })
  await t.settled()
  expect(seen).toEqual(['c', 'b', 'a'])
  expect(new Set(events.map(({ objectId }) => objectId)).size).toBe(1)
})

test('a body is delivered byte by byte, and names the event', async () => {
  const bodies: string[] = []
  const t = await kit(
    unstarted().on('test', '*', (event) => void bodies.push(Buffer.from(event.body).toString('utf8'))),
  )
  const body = '{ "id": "evt_7",\n "type": "paid", "account": 9007199254740993 }'
  const delivered = await t.deliver('test', 'paid', {}, { body, times: 2 })
  expect(delivered).toMatchObject({ key: 'evt_7', type: 'paid', statuses: [202, 200] })
  const unread = await t.deliver('test', 'paid', {}, { body: Buffer.from([0xff]), key: 'evt_8' })
  expect(unread).toMatchObject({ key: 'evt_8', statuses: [400], code: 'BODY_UNPARSABLE' })
  await t.settled()
  expect(bodies).toEqual([body])
  expect(await t.jobs()).toMatchObject([{ eventKey: 'evt_7', state: 'processed' }])
})

test('impossible options are refused with advice', async () => {
  const t = await kit(unstarted().on('test', '*', () => undefined))
  await expect(t.deliver('tset' as 'test', 'a')).rejects.toThrow(
    'no source is named "tset" (did you mean "test"?)',
  )
  await expect(t.deliver('test', 'a', { id: 'x' }, { body: '{}' })).rejects.toThrow(
    'pass one type and no overrides, or leave `body` out',
  )
  await expect(t.clock.advance('2 hours' as '2h')).rejects.toThrow('"2 hours" is not a duration')
  await expect(t.rows('x; drop table y')).rejects.toThrow('is not the name of a table')
  expect(() => t.crashAt('effects:x' as 'write')).toThrow("pass 'step:NAME', 'effect:KEY'")
})
