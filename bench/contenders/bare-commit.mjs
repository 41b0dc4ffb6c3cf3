// @ts-check
import pg from 'pg'
import { binary } from '../product.mjs'
import { listen, receiver, required } from './serve.mjs'

/*
 * The physical limit of recording before acknowledging, on this machine: verify-only plus the id
 * and the body of each delivery in a table with nothing but its primary key, in group commits with
 * binary parameters. It stores no headers, type, time or job, counts nothing and has no limits, so
 * it is not usable in practice.
 */

const pool = new pg.Pool({ connectionString: required('DATABASE_URL'), max: 1 })
await pool.query('create table bare_event (event_id text primary key, body bytea not null)')

const RECORD = {
  name: 'record',
  text: `insert into bare_event select * from unnest($1::text[], $2::bytea[])
         on conflict (event_id) do nothing returning event_id`,
}

/** @typedef {{ id: string, body: Buffer, settle: (isNew: boolean) => void, fail: (error: unknown) => void }} Waiting */

/** @type {Waiting[]} */
let waiting = []
let isUnderWay = false

async function flush() {
  const batch = waiting
  waiting = []
  try {
    const values = [binary.texts(batch.map(({ id }) => id)), binary.byteas(batch.map(({ body }) => body))]
    const { rows } = await pool.query({ ...RECORD, values })
    const isNew = new Set(rows.map((row) => row.event_id))
    for (const { id, settle } of batch) settle(isNew.delete(id))
  } catch (error) {
    for (const { fail } of batch) fail(error)
  }
  isUnderWay = false
  schedule()
}

function schedule() {
  if (isUnderWay || waiting.length === 0) return
  isUnderWay = true
  setImmediate(() => void flush())
}

listen(
  receiver(
    (event, body) =>
      new Promise((settle, fail) => {
        waiting.push({ id: event.id, body, settle, fail })
        schedule()
      }),
  ),
  () => pool.end(),
)
