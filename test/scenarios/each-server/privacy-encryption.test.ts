import { describe, expect, test } from 'vitest'
import { type Event, HookonceError } from '../../../src/index.ts'
import { sweepBodies } from '../../../src/ledger/receipts/retention.ts'
import { forgetTenant, listEncryptionKeys, rotateEncryption } from '../../../src/operate/encryption.ts'
import { readEvent } from '../../../src/operate/receipt.ts'
import { planReplayFailed, replayOne } from '../../../src/operate/replay.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { newKey, operatorLedger, REASON } from '../../support/encryption.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { type Receiver, receiving } from '../../support/receiver.ts'
import { signed, testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

const key = newKey()
const encryption = { key }

const sealedRows = (db: TestDatabase): Promise<number> =>
  db.number(
    `select count(*) from hookonce.receipt
     where sealed is not null and data_key is not null and body is null and headers is null`,
  )

function seenBy(seen: Event[]): (event: Event) => void {
  return (event) => void seen.push(event)
}

/** A receiver without a worker: its jobs wait in the ledger. */
function receiver(db: TestDatabase, options: object = { encryption }): Receiver {
  return receiving(db, { options })
}

describe('an encrypted event', () => {
  test('is run at once, claimed and replayed with the bytes that were sent', async () => {
    const db = await freshDatabase()
    const body = '{"id":"evt_1","type":"a","n":12345678901234567890,"text":"\\u00e9 é"}'
    const waiting = receiver(db)
    await waiting.send(body)
    await waiting.stop()
    expect(await sealedRows(db)).toBe(1)

    const seen: Event[] = []
    const hooks = testHooks(db, { encryption }).on('test', '*', seenBy(seen), { name: '*' })
    await hooks.start()
    await jobsAre(db, 'processed')
    const bornLeased = await deliver(hooks, { id: 'evt_2', type: 'a', big: 'x'.repeat(200_000) })
    await jobsAre(db, 'processed', 2)
    await hooks.replay(bornLeased)
    await until('the second event is seen again', () => seen.length === 3)

    const [claimed, atOnce, replayed] = seen
    expect(Buffer.from(claimed?.body ?? []).toString()).toBe(body)
    expect(claimed?.headers['test-signature']).toBe(signed(body).headers['test-signature'])
    expect(Buffer.compare(atOnce?.body ?? Buffer.of(1), replayed?.body ?? Buffer.of(2))).toBe(0)
    expect(replayed?.payload).toEqual(atOnce?.payload)
    expect(replayed?.headers).toEqual(atOnce?.headers)
  })

  test('with an order key is encrypted too', async () => {
    const db = await freshDatabase()
    const seen: Event[] = []
    const hooks = testHooks(db, { encryption }).on('test', '*', seenBy(seen), { ordered: () => 'one' })
    await hooks.start()
    for (const id of ['evt_1', 'evt_2', 'evt_3']) await deliver(hooks, { id, type: 'a' })
    await jobsAre(db, 'processed', 3)
    expect(await sealedRows(db)).toBe(3)
    expect(seen.map((event) => event.key)).toEqual(['evt_1', 'evt_2', 'evt_3'])
  })

  test('is recognised when it is repeated, and so is another body under its key', async () => {
    const db = await freshDatabase()
    const first = receiver(db)
    const same = { id: 'evt_1', type: 'a' }
    expect((await first.send(same)).status).toBe(202)
    // Read from the ledger, then from memory.
    expect((await first.send(same)).status).toBe(200)
    expect((await first.send(same)).status).toBe(200)
    await first.send({ ...same, other: true })
    await first.send({ ...same, other: true })
    await first.stop()
    const counts = await db.rows('select count, mismatches from hookonce.duplicate')
    expect(counts).toEqual([{ count: 4, mismatches: 2 }])
  })

  test('is shown to an operator with the key, and to no other', async () => {
    const db = await freshDatabase()
    const hooks = testHooks(db, { encryption }).on('test', '*', () => undefined)
    const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
    const open = await readEvent(await operatorLedger(db, [newKey(), key]), id)
    expect(open.receipt.body?.toString()).toBe('{"id":"evt_1","type":"a"}')
    expect(open.receipt.headers).toContain('test-signature: ')
    expect(open.receipt.bodySha256).toMatch(/^[0-9a-f]{64}$/)
    for (const keys of [[], [newKey()]]) {
      const { receipt } = await readEvent(await operatorLedger(db, keys), id)
      expect(receipt).toMatchObject({ body: null, headers: null, eventKey: 'evt_1' })
      expect(receipt.unreadable?.code).toBe('ENCRYPTION_KEY_MISSING')
    }
  })

  test('loses its payload at the end of its retention, and is still recognised', async () => {
    const db = await freshDatabase()
    const first = receiver(db)
    await first.send({ id: 'evt_1', type: 'a' })
    await db.rows(`update hookonce.job set state = 'processed', finished_at = now()`)
    await db.rows(`update hookonce.receipt set received_at = now() - interval '40 days'`)
    for (let shard = 0; shard < 16; shard += 1) await sweepBodies(db.pool, shard, 10)
    expect(await db.number('select count(*) from hookonce.receipt where sealed is not null')).toBe(0)
    expect((await first.send({ id: 'evt_1', type: 'a' })).status).toBe(200)
    await first.send({ id: 'evt_1', type: 'b' })
    await first.stop()
    expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
      { count: 2, mismatches: 1 },
    ])
  })
})

describe('plain and encrypted events in one ledger:', () => {
  test('events from before the key are read, run and recognised', async () => {
    const db = await freshDatabase()
    const before = receiver(db, {})
    await before.send({ id: 'evt_1', type: 'a' })
    await before.stop()
    const seen: Event[] = []
    const hooks = testHooks(db, { encryption }).on('test', '*', seenBy(seen), { name: '*' })
    await deliver(hooks, { id: 'evt_2', type: 'a' })
    await deliver(hooks, { id: 'evt_1', type: 'a' })
    await hooks.start()
    await jobsAre(db, 'processed', 2)
    expect(seen.map((event) => event.payload)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 'evt_1' }),
        expect.objectContaining({ id: 'evt_2' }),
      ]),
    )
    expect(await sealedRows(db)).toBe(1)
    await hooks.stop()
    expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
      { count: 1, mismatches: 0 },
    ])
  })

  test('a process without the key, or with another, does not start: it would store payloads unencrypted', async () => {
    const db = await freshDatabase()
    await receiver(db).send({ id: 'evt_1', type: 'a' })
    for (const options of [{}, { encryption: { key: newKey() } }]) {
      const hooks = testHooks(db, options).on('test', '*', () => undefined)
      await expect(hooks.start()).rejects.toThrow(
        /ENCRYPTION_KEY_MISSING: .*tenant "default" need the encryption key/,
      )
    }
    expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
  })

  test('a worker that was started before the first key retries events that it cannot read', async () => {
    const db = await freshDatabase()
    const seen: Event[] = []
    const retry = { baseDelayMs: 20, maxDelayMs: 20 }
    const early = testHooks(db, { retry }).on('test', '*', seenBy(seen), { name: '*' })
    await early.start()
    await receiver(db).send({ id: 'evt_1', type: 'a' })
    await until('the early worker has tried', () => db.number('select count(*) from hookonce.attempt'))
    const [attempt] = await db.rows<{ outcome: string; error: string }>(
      'select outcome, error from hookonce.attempt',
    )
    expect(attempt).toMatchObject({
      outcome: 'retrying',
      error: expect.stringContaining('ENCRYPTION_KEY_MISSING'),
    })
    await early.stop()
    const hooks = testHooks(db, { encryption }).on('test', '*', seenBy(seen), { name: '*' })
    await hooks.start()
    await jobsAre(db, 'processed')
    expect(seen).toHaveLength(1)
  })
})

describe('a changed payload is never taken for the event:', () => {
  test.each([
    ['a changed byte', 'sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1)'],
    ['a cut payload', 'sealed = substr(sealed, 1, 40)'],
    ['an empty payload', `sealed = ''`],
    [
      'the payload of another event',
      `sealed = (select sealed from hookonce.receipt o where o.event_key = 'evt_other')`,
    ],
    ['another data key', `data_key = (select id from hookonce.data_key where purpose = 'hash')`],
    ['an unknown data key', 'data_key = 999'],
  ])('%s', async (_, change) => {
    const db = await freshDatabase()
    const waiting = receiver(db)
    await waiting.send({ id: 'evt_other', type: 'a' })
    await waiting.send({ id: 'evt_1', type: 'a' })
    await waiting.stop()
    await db.rows(`update hookonce.receipt set ${change} where event_key = 'evt_1'`)
    const seen: Event[] = []
    const hooks = testHooks(db, { encryption }).on('test', '*', seenBy(seen), { name: '*' })
    await hooks.start()
    await jobsAre(db, 'failed')
    await jobsAre(db, 'processed')
    expect(seen.map((event) => event.key)).toEqual(['evt_other'])
    const [job] = await db.rows<{ reason: string }>(`select reason from hookonce.job where state = 'failed'`)
    expect(job?.reason).toContain('PAYLOAD_DAMAGED')
  })

  test('a data key that was moved to another tenant does not open', async () => {
    const db = await freshDatabase()
    const hooks = testHooks(db, { encryption }).on('test', '*', () => undefined)
    const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
    await db.rows(`update hookonce.data_key set tenant = 'other'`)
    const { receipt } = await readEvent(await operatorLedger(db, [key]), id)
    expect(receipt.unreadable?.code).toBe('PAYLOAD_DAMAGED')
  })
})

describe('after a tenant was forgotten', () => {
  test('its payloads are unreadable, its repeats are known, and its new events get a new key', async () => {
    const db = await freshDatabase()
    const waiting = receiver(db)
    await waiting.send({ id: 'evt_1', type: 'a' })
    const ledger = await operatorLedger(db, [key])
    const [{ id = '' } = {}] = await db.rows<{ id: string }>('select id from hookonce.receipt')
    await forgetTenant(ledger, { tenant: 'default' }, REASON)

    expect((await readEvent(ledger, id)).receipt.unreadable?.code).toBe('PAYLOAD_FORGOTTEN')
    // The receiver has the forgotten key in memory.
    expect((await waiting.send({ id: 'evt_1', type: 'a' })).status).toBe(200)
    expect((await waiting.send({ id: 'evt_2', type: 'a' })).status).toBe(202)
    expect((await waiting.send({ id: 'evt_1', type: 'b' })).status).toBe(200)
    await waiting.stop()
    // A new process can read the key of the hashes only from the ledger.
    const later = receiver(db)
    expect((await later.send({ id: 'evt_1', type: 'a' })).status).toBe(200)
    await later.stop()
    expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
      { count: 3, mismatches: 1 },
    ])

    const seen: Event[] = []
    const hooks = testHooks(db, { encryption }).on('test', '*', seenBy(seen), { name: '*' })
    await hooks.start()
    await jobsAre(db, 'failed')
    await jobsAre(db, 'processed')
    expect(seen.map((event) => event.key)).toEqual(['evt_2'])
    const [job] = await db.rows<{ reason: string; attempt: number }>(
      `select reason, attempt from hookonce.job where state = 'failed'`,
    )
    expect(job).toMatchObject({ attempt: 1, reason: expect.stringContaining('PAYLOAD_FORGOTTEN') })
    await expect(replayOne(ledger, id)).rejects.toThrow('PAYLOAD_FORGOTTEN')
    expect((await planReplayFailed(ledger, { limit: 10 })).jobs).toEqual([])
    expect(await db.rows('select actor, action, why, tenant from hookonce.audit')).toEqual([
      { actor: 'tester', action: 'forget-tenant', why: 'a test', tenant: 'default' },
    ])
    await expect(forgetTenant(ledger, { tenant: 'nobody' }, REASON)).rejects.toThrow(
      'tenant "nobody" has no data key',
    )
  })

  test('it may continue unencrypted, and with another master key if the first is lost', async () => {
    const db = await freshDatabase()
    await receiver(db).send({ id: 'evt_1', type: 'a' })
    const ledger = await operatorLedger(db)
    const start = (options: object): Promise<void> =>
      testHooks(db, options)
        .on('test', '*', () => undefined)
        .start()
    await forgetTenant(ledger, { tenant: 'default' }, REASON)
    await start({})
    const other = { encryption: { key: newKey() } }
    await expect(start(other)).rejects.toThrow('ENCRYPTION_KEY_MISSING')
    await forgetTenant(ledger, { tenant: 'default', hashes: true }, REASON)
    const again = receiver(db, other)
    expect((await again.send({ id: 'evt_1', type: 'a' })).status).toBe(200)
    expect((await again.send({ id: 'evt_2', type: 'a' })).status).toBe(202)
    await again.stop()
    expect(await db.number('select count(*) from hookonce.receipt')).toBe(2)
  })

  test('other tenants are not affected', async () => {
    const db = await freshDatabase()
    const sources = { a: testSource({ tenant: 'a' }), b: testSource({ tenant: 'b' }) }
    const both = receiving(db, { sources, options: { encryption } })
    await both.post(signed({ id: 'evt_1', type: 'a' }), '/in/a')
    await both.post(signed({ id: 'evt_1', type: 'a' }), '/in/b')
    const ledger = await operatorLedger(db, [key])
    await forgetTenant(ledger, { tenant: 'a' }, REASON)
    const receipts = await db.rows<{ id: string; tenant: string }>(
      'select id, tenant from hookonce.receipt order by tenant',
    )
    const read = await Promise.all(receipts.map(async ({ id }) => (await readEvent(ledger, id)).receipt))
    expect(read.map(({ tenant, unreadable }) => [tenant, unreadable?.code])).toEqual([
      ['a', 'PAYLOAD_FORGOTTEN'],
      ['b', undefined],
    ])
    expect(await db.number('select count(distinct data_key) from hookonce.receipt')).toBe(2)
  })
})

describe('a rotation of the master key', () => {
  test('rewraps every data key; then the old master key is not needed', async () => {
    const db = await freshDatabase()
    const [old, next] = [key, newKey()]
    const first = testHooks(db, { encryption: { key: old } }).on('test', '*', () => undefined)
    const id = await deliver(first, { id: 'evt_1', type: 'a' })
    await first.stop()
    await expect(rotateEncryption(await operatorLedger(db, [next]), REASON)).rejects.toThrow(
      'ENCRYPTION_KEY_MISSING',
    )
    const rotating = await operatorLedger(db, [next, old])
    expect(await rotateEncryption(rotating, REASON)).toMatchObject({ rewrapped: 2 })
    expect(await rotateEncryption(rotating, REASON)).toMatchObject({ rewrapped: 0 })

    const ledger = await operatorLedger(db, [next])
    expect((await readEvent(ledger, id)).receipt.body?.toString()).toContain('evt_1')
    expect((await listEncryptionKeys(ledger)).map(({ isOpen }) => isOpen)).toEqual([true, true])
    expect((await readEvent(await operatorLedger(db, [old]), id)).receipt.unreadable?.code).toBe(
      'ENCRYPTION_KEY_MISSING',
    )
    // The hash key stayed the same: repeats are still recognised.
    const second = receiver(db, { encryption: { key: next } })
    await second.send({ id: 'evt_1', type: 'a' })
    await second.stop()
    expect(await db.rows('select count, mismatches from hookonce.duplicate')).toEqual([
      { count: 1, mismatches: 0 },
    ])
  })

  test('does not bring back a key that is forgotten meanwhile', async () => {
    const db = await freshDatabase()
    await receiver(db).send({ id: 'evt_1', type: 'a' })
    const ledger = await operatorLedger(db, [newKey(), key])
    const client = await db.pool.connect()
    await client.query('begin')
    await client.query(
      `update hookonce.data_key set wrapped = null, forgotten_at = now() where purpose = 'payload'`,
    )
    const rotating = rotateEncryption(ledger, REASON)
    await until('the rotation waits', () =>
      db.number(`select count(*) from pg_locks l join pg_stat_activity a using (pid)
        where a.datname = current_database() and not l.granted`),
    )
    await client.query('commit')
    client.release()
    expect(await rotating).toMatchObject({ rewrapped: 1 })
    expect(await db.number('select count(*) from hookonce.data_key where wrapped is not null')).toBe(1)
  })
})

test('a tenant whose key is wrapped by an unknown master key is refused, and stops no other tenant', async () => {
  const db = await freshDatabase()
  const sources = { a: testSource({ tenant: 'a' }), b: testSource({ tenant: 'b' }) }
  const here = receiving(db, { sources, options: { encryption } })
  const there = receiving(db, { sources, options: { encryption: { key: newKey() } } })
  const event = (id: string) => signed({ id, type: 'a' })
  await here.hooks.ledger('a')
  expect((await there.post(event('evt_1'), '/in/b')).status).toBe(202)
  const answers = await Promise.all(
    ['a', 'b', 'a', 'b'].map(async (name, n) => (await here.post(event(`evt_${n}`), `/in/${name}`)).status),
  )
  expect(answers).toEqual([202, 503, 202, 503])
  // This does not count as an outage of the ledger: the next delivery is tried.
  expect((await here.post(event('evt_9'), '/in/a')).status).toBe(202)
  await here.stop()
  expect(await db.rows(`select code, last_detail from hookonce.rejection where source = 'b'`)).toEqual([
    { code: 'LEDGER_DOWN', last_detail: expect.stringContaining('ENCRYPTION_KEY_MISSING') },
  ])
})

test('processes that begin together use one data key', async () => {
  const db = await freshDatabase()
  const receivers = Array.from({ length: 4 }, () => receiver(db))
  const answers = await Promise.all(
    receivers.flatMap((one, n) => [1, 2, 3].map((m) => one.send({ id: `evt_${n}_${m}`, type: 'a' }))),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(202))
  expect(await db.number('select count(*) from hookonce.data_key')).toBe(2)
  expect(await db.number('select count(distinct data_key) from hookonce.receipt')).toBe(1)
})

test.each([
  ['too short', 'c2hvcnQ='],
  ['not a key', 'x'.repeat(44)],
  ['empty', ''],
  ['one of two empty', [key, '']],
  ['an unset variable', { env: 'NOT_SET_ANYWHERE' }],
])('a key that is %s is refused', async (_, bad) => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { encryption: { key: bad } }).on('test', '*', () => undefined)
  const error = await hooks.start().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(HookonceError)
  expect(String(error)).toMatch(/encryption/)
  expect(String(error)).not.toContain(key)
})
