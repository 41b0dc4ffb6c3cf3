import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Logger } from '../../../src/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { proxyTo } from '../../support/proxy.ts'
import { receiving } from '../../support/receiver.ts'
import { lockTable } from '../../support/table-lock.ts'
import { until } from '../../support/until.ts'

/* The receiver remembers known events, and does not query the ledger for every repeat. */

const EVENT = { id: 'evt_1', type: 'a' }
const COUNTED = 'select count, mismatches from hookonce.duplicate'

test('a storm of repeats is answered while the ledger cannot be read, and every one is counted', async () => {
  const db = await freshDatabase()
  const { send, stop } = receiving(db)
  expect((await send(EVENT)).status).toBe(202)
  expect((await send(EVENT)).status).toBe(200)
  const lock = await lockTable(db, 'hookonce.receipt')
  const answers = await Promise.all(Array.from({ length: 50 }, () => send(EVENT)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  await lock.release()
  await stop()
  expect(await db.rows(COUNTED)).toEqual([{ count: 51, mismatches: 0 }])
  expect(await db.number('select count(*) from hookonce.job')).toBe(1)
})

test('another body under a key that was just repeated is looked up in the ledger', async () => {
  const db = await freshDatabase()
  const { send, stop } = receiving(db)
  await send(EVENT)
  await send(EVENT)
  const lock = await lockTable(db, 'hookonce.receipt')
  const other = send({ ...EVENT, amount: 2 })
  await lock.waiters(1)
  await lock.release()
  expect((await other).status).toBe(200)
  await stop()
  expect(await db.rows(COUNTED)).toEqual([{ count: 2, mismatches: 1 }])
})

test('an event is new as soon as its key has expired', async () => {
  const db = await freshDatabase()
  const { send } = receiving(db)
  await send(EVENT)
  await db.pool.query(`update hookonce.job set state = 'processed', finished_at = now();
    update hookonce.receipt set received_at = now() - interval '1 second' * (select key_seconds - 2 from hookonce.source)`)
  expect((await send(EVENT)).status).toBe(200)
  await until('it is recorded anew', async () => (await send(EVENT)).status === 202)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
})

test('repeats that could not be counted are counted when the ledger can be written again', async () => {
  const db = await freshDatabase()
  const troubles: string[] = []
  const note: Logger['warn'] = (_, message) => void troubles.push(message)
  const logger: Logger = { info: () => undefined, warn: note, error: note }
  const { send } = receiving(db, { options: { logger } })
  await send(EVENT)
  await db.pool.query('alter table hookonce.duplicate rename to taken_away')
  await send(EVENT)
  await send(EVENT)
  await until('a count has failed', () => troubles.length)
  await db.pool.query('alter table hookonce.taken_away rename to duplicate')
  await until(
    'both are counted',
    async () => (await db.number('select sum(count) from hookonce.duplicate')) === 2,
  )
})

/*
 * The receipt of a remembered event is deleted, as by a failover to a standby that missed it. Each
 * test lets the receiver notice in one way only that its connection was replaced. The memory ends by
 * itself after three seconds of silence, so the next delivery follows at once.
 */
describe('the memory is dropped', () => {
  async function remembering() {
    const db = await freshDatabase()
    const proxy = await proxyTo(db.url)
    const { hooks, send } = receiving({ url: proxy.url })
    const statusOf = async (payload = EVENT): Promise<number> => (await send(payload)).status
    expect(await statusOf()).toBe(202)
    const { pool } = await hooks.ledger('test')
    const counts = await lockTable(db, 'hookonce.duplicate')
    expect(await statusOf()).toBe(200)
    await db.rows('with gone as (delete from hookonce.job) delete from hookonce.receipt')
    expect(await statusOf()).toBe(200)
    return {
      db,
      pool,
      counts,
      statusOf,
      /** A pool removes a connection when it has ended: from now on, it never does. */
      keepRemoved() {
        proxy.holdEnds(true)
        onTestFinished(() => proxy.holdEnds(false))
      },
      endConnections: (which: string) =>
        db.rows(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'hookonce' and ${which}`),
    }
  }

  test('if the server ends an idle connection', async () => {
    const { db, pool, counts, statusOf, keepRemoved, endConnections } = await remembering()
    await counts.release()
    await until('the duplicates are counted', () => db.number('select sum(count) from hookonce.duplicate'))
    keepRemoved()
    const failed = once(pool, 'error')
    await endConnections(`state = 'idle'`)
    await failed
    expect(await statusOf()).toBe(202)
  })

  test('if a connection in use is removed', async () => {
    const { pool, counts, statusOf, endConnections } = await remembering()
    await counts.waiters(1)
    const removed = once(pool, 'remove')
    await endConnections(`wait_event_type = 'Lock'`)
    await removed
    expect(await statusOf()).toBe(202)
  })

  test('if events could not be recorded', async () => {
    const { db, statusOf, keepRemoved } = await remembering()
    await db.pool.query(`create function refuse() returns trigger language plpgsql as $$ begin
        if new.event_key = 'refused' then raise 'refused'; end if;
        return new;
      end $$;
      create trigger refuse before insert on hookonce.receipt for each row execute function refuse()`)
    keepRemoved()
    expect(await statusOf({ id: 'refused', type: 'a' })).toBe(503)
    expect(await statusOf()).toBe(202)
  })
})
