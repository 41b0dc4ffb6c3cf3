import { expect, test } from 'vitest'
import { CHECKS, violationsOf } from '../../chaos/checks.ts'
import { FORGOTTEN, HISTORY_TABLES } from '../../chaos/history.ts'
import { KEY_DAYS } from '../../chaos/ledger-clock.ts'
import { SUBSCRIBERS } from '../../chaos/person.ts'
import { HANDLER_TABLES } from '../../chaos/world.ts'
import { freshDatabase } from '../../support/database.ts'

/*
 * The checker of the chaos run, on histories that were written by hand. A run of broken builds
 * (`npm run chaos -- --broken`) shows the same with a real history, and takes minutes.
 */

/** The columns of the ledger and of the loaded history that the checks read. */
const LEDGER = `
  alter schema hookonce rename to hookonce_real;
  create schema hookonce;
  create table hookonce.outbox (receipt_id integer, topic text, state text);
  create table hookonce.effect (receipt_id integer, key text, state text, reopened_at timestamptz);
  create table hookonce.receipt (id integer, body bytea, received_at timestamptz);
  create table history.known (event integer, id integer);
  create table history.job (event integer, subscriber text, state text default 'processed', reason text,
    epoch integer default 0, lane_seq integer, started_ms integer, finished_ms integer);
  create view history.loss as select from_ms, to_ms from history.fault where loss;
  create view history.spanned as select j.event, j.subscriber from history.job j
    where exists (select from history.loss l where j.started_ms <= l.to_ms and j.finished_ms >= l.from_ms);
  ${FORGOTTEN}`

/** Two events of one object, both delivered once and processed once. */
const CORRECT = `
  insert into history.known select event, event from generate_series(1, 2) event;
  insert into hookonce.receipt select id, 'body', now() from history.known;
  insert into history.delivery select event, 'app 1', event * 100, event * 100 + 10, 202 from history.known;
  insert into history.delivery values (1, 'app 2', 300, 310, 200), (2, 'app 2', 300, 310, 503);
  insert into history.job (event, subscriber, lane_seq, started_ms, finished_ms)
    select event, subscriber, event, event * 100 + 10, event * 100 + 20
    from history.known, unnest('{${SUBSCRIBERS.join(',')}}'::text[]) subscriber;
  insert into history.call select event, kind, kind || event, true, '200', event * 100 + 15
    from history.known, unnest('{keyed,told,once}'::text[]) kind;
  insert into written (event) select event from history.known order by event;
  insert into transacted (event) select event from history.known order by event;
  insert into renamed (event) select event from history.known order by event;
  insert into version (entity, event) select 'a', event from history.known order by event;
  insert into sequence (entity, event) select 'a', event from history.known order by event;
  insert into hookonce.outbox select event, 'told/' || event, 'published' from history.known;
  insert into hookonce.effect select event, 'once:' || event, 'done' from history.known`

/** Event 3 was recorded twice, because its key expired in between. Its receipt is gone again. */
const AGED = `
  insert into history.shift values (1000, 1010, ${KEY_DAYS + 1});
  update history.delivery set sent_ms = sent_ms + 2000, answered_ms = answered_ms + 2000;
  insert into history.delivery values (3, 'app 1', 500, 510, 202), (3, 'app 1', 1500, 1510, 202);
  insert into written (event) values (3), (3);
  insert into transacted (event) values (3), (3);
  insert into sequence (entity, event) values ('b', 3), ('b', 3);
  insert into version (entity, event) values ('b', 3)`

const FRESH = `insert into history.act values (1, 'fresh', 'write', 400, 410, true)`

/** Event 1 failed long ago, and its body was pruned. */
const PRUNED = `update hookonce.receipt set body = null, received_at = now() - interval '1 year' where id = 1`

/** What a defect leaves behind, and the rules that it breaks. */
const DEFECTS: readonly (readonly [name: string, sql: string, faults: readonly string[]])[] = [
  [
    'an acknowledged event is not in the ledger',
    `insert into history.delivery values (3, 'app 1', 500, 510, 200)`,
    ['acknowledged, and not recorded'],
  ],
  [
    'copies are both answered as new',
    `insert into history.delivery values (1, 'app 2', 105, 115, 202)`,
    ['recorded as new more than once'],
  ],
  [
    'a repeat is answered as new',
    `insert into history.delivery values (1, 'app 2', 500, 510, 202)`,
    ['recorded as new more than once', 'recorded as new, although it was acknowledged before'],
  ],
  ['an expired key is no violation', AGED, []],
  [
    'an event is recorded again after its key expired, and once more',
    `${AGED}; insert into history.delivery values (3, 'app 2', 1600, 1610, 202)`,
    ['recorded as new more often than its key expired'],
  ],
  [
    'an event took effect once more than its key expired',
    `${AGED}; insert into written (event) values (3)`,
    ['not once for each life of its key in "written"'],
  ],
  [
    'an event whose key expired took no effect',
    `${AGED}; delete from transacted where event = 3`,
    ['not once for each life of its key in "transacted"'],
  ],
  [
    'a body was deleted too early',
    'update hookonce.receipt set body = null where id = 1',
    ['a body is missing within its retention'],
  ],
  ['a body was deleted after its retention', PRUNED, []],
  [
    'a job failed, and can no longer be replayed',
    `${PRUNED}; update history.job set state = 'failed' where event = 1 and subscriber = 'latest'`,
    [],
  ],
  [
    'a genuine delivery is refused',
    `insert into history.delivery values (1, 'app 2', 500, 510, 401)`,
    ['refused, although it was signed well'],
  ],
  [
    'a job is gone',
    `delete from history.job where event = 1 and subscriber = 'latest'`,
    ['a job is missing'],
  ],
  [
    'a job failed',
    `update history.job set state = 'failed' where event = 1 and subscriber = 'latest'`,
    ['jobs did not come to their good end'],
  ],
  [
    'a message waits',
    `update hookonce.outbox set state = 'waiting' where receipt_id = 1`,
    ['messages were not published'],
  ],
  [
    'an effect has no outcome',
    `update hookonce.effect set state = 'started' where receipt_id = 1`,
    ['effects have no outcome'],
  ],
  ['a write is lost', 'delete from written where event = 1', ['not exactly once in "written"']],
  [
    'a transaction is doubled',
    'insert into transacted (event) values (1)',
    ['not exactly once in "transacted"'],
  ],
  [
    'a fresh replay did not write again',
    `${FRESH}; update history.job set epoch = 1 where event = 1 and subscriber = 'write';
     insert into history.call values (1, 'keyed', 'again', true, '200', 405), (1, 'told', 'again', true, '200', 405)`,
    ['not exactly once in "written"'],
  ],
  [
    'an effect of the renamed subscriber is doubled',
    'insert into renamed (event) values (2)',
    ['not exactly once in "renamed"'],
  ],
  ['rows have no receipt', `insert into renamed (event) values (9)`, ['in "renamed" without a receipt']],
  [
    'the called service acted twice',
    `insert into history.call values (1, 'keyed', 'keyed1', true, '200', 130)`,
    ['the other side did not act exactly once: "keyed"'],
  ],
  [
    'the called service got two keys',
    `insert into history.call values (1, 'told', 'other', false, '503', 130)`,
    ['called with more than one key: "told"'],
  ],
  [
    'a call was repeated that may happen at most once',
    `insert into history.call values (1, 'once', 'once1', false, '503', 130)`,
    ['called more than once, at most once'],
  ],
  [
    'a fresh replay is reported as done, and was not',
    FRESH,
    ['a fresh replay was told to be done, and was not, or was done more often'],
  ],
  [
    'an old version overwrote a newer one',
    `insert into version (entity, event) values ('a', 1)`,
    ['a version fell'],
  ],
  ['the newest version is missing', 'delete from version where event = 2', ['the newest version is missing']],
  [
    'events of one object ran in the wrong order',
    `delete from sequence; insert into sequence (entity, event) values ('a', 2), ('a', 1)`,
    ['out of order'],
  ],
]

test('the checker finds each defect, and nothing in a correct history', async () => {
  const { pool } = await freshDatabase()
  const client = await pool.connect()
  const violated = async (): Promise<string[]> => {
    const faults: string[] = []
    for (const check of CHECKS)
      if ((await client.query(violationsOf(check))).rows.length > 0) faults.push(check.fault)
    return faults
  }
  try {
    await client.query('begin')
    for (const sql of [HISTORY_TABLES, HANDLER_TABLES, LEDGER, CORRECT]) await client.query(sql)
    expect(await violated()).toEqual([])
    const found: Record<string, readonly string[]> = {}
    for (const [name, sql] of DEFECTS) {
      await client.query('savepoint defect')
      await client.query(sql)
      found[name] = await violated()
      await client.query('rollback to savepoint defect')
    }
    expect(found).toEqual(Object.fromEntries(DEFECTS.map(([name, , faults]) => [name, faults])))
    // A rule that no defect breaks would not be tested.
    const broken = new Set(
      Object.values(found)
        .flat()
        .map((fault) => fault.replace(/".*/, '')),
    )
    expect(CHECKS.filter(({ fault }) => !broken.has(fault.replace(/".*/, '')))).toEqual([])
  } finally {
    await client.query('rollback')
    client.release()
  }
})

test('with an asynchronous standby, only what its failover may lose is excused', async () => {
  const { pool } = await freshDatabase()
  const client = await pool.connect()
  const lost = CHECKS.find(({ fault }) => fault === 'acknowledged, and not recorded')?.query
  const events = async (): Promise<number[]> =>
    (await client.query<{ event: number }>(`select event from (${lost}) f order by event`)).rows.map(
      ({ event }) => event,
    )
  try {
    await client.query('begin')
    for (const sql of [HISTORY_TABLES, HANDLER_TABLES, LEDGER, CORRECT]) await client.query(sql)
    await client.query(`insert into history.fault values ('failOver', '', 500, 600, true)`)
    await client.query(`insert into history.delivery values
      (3, 'app 1', 550, 560, 202), (4, 'app 1', 400, 510, 202), (5, 'app 1', 400, 450, 202), (6, 'app 1', 610, 620, 202)`)
    expect(await events()).toEqual([5, 6])
  } finally {
    await client.query('rollback')
    client.release()
  }
})
