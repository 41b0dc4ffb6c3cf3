// @ts-check
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { rowOf, WRITE } from './business.mjs'
import { listen, mode, receiver, required } from './serve.mjs'

/*
 * A good engineer's solution without a library: a table with the event's id as its key, one INSERT
 * per delivery, and a polling worker that claims a row with SKIP LOCKED and commits the business
 * row together with its completion. It uses prepared statements, binary parameters for bytes, and a
 * partial index on open work.
 */

const WORKERS = 8
/** Each worker holds a connection of the pool. The receiver has the same number of connections. */
const CONNECTIONS = 16
const IDLE_POLL_MS = 50

const pool = new pg.Pool({ connectionString: required('DATABASE_URL'), max: CONNECTIONS })
await pool.query(`create table webhook_event (
  event_id text primary key,
  type text not null,
  body bytea not null,
  received_at timestamptz not null default now(),
  processed_at timestamptz
)`)
await pool.query('create index webhook_event_open on webhook_event (received_at) where processed_at is null')

const RECORD = {
  name: 'record',
  text: 'insert into webhook_event (event_id, type, body) values ($1, $2, $3) on conflict (event_id) do nothing',
}
const TAKE = {
  name: 'take',
  text: `select event_id, body from webhook_event where processed_at is null
         order by received_at limit 1 for update skip locked`,
}
const DONE = { name: 'done', text: 'update webhook_event set processed_at = now() where event_id = $1' }

let stopping = false

async function work() {
  const client = await pool.connect()
  while (!stopping) {
    await client.query('begin')
    const taken = await client.query(TAKE)
    const row = taken.rows[0]
    if (row) {
      const event = JSON.parse(row.body.toString())
      await client.query({ ...WRITE, values: rowOf(event) })
      await client.query({ ...DONE, values: [row.event_id] })
    }
    await client.query('commit')
    if (!row) await delay(IDLE_POLL_MS)
  }
  client.release()
}

const working = mode === 'end-to-end' ? Array.from({ length: WORKERS }, work) : []

listen(
  receiver(async (event, body) => {
    const result = await pool.query({ ...RECORD, values: [event.id, event.type, body] })
    return result.rowCount === 1
  }),
  async () => {
    stopping = true
    await Promise.all(working)
    await pool.end()
  },
)
