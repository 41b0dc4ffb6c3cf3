// @ts-check
import { percentiles } from '../load/percentiles.mjs'
import { claimJobs } from '../product.mjs'
import { keptDatabase } from './prefilled.mjs'

const CLAIMS = 1_000
const AT_ONCE = 10

/**
 * The duration of one claim, with nothing else in flight and with much in flight.
 * @param {import('../limits.mjs').Limits} limits
 */
export async function inFlight({ postgres, leased, rounds }) {
  const rows = []
  for (let n = 1; n <= rounds; n += 1) {
    for (const others of [0, leased]) {
      const server = await keptDatabase(postgres)
      const worker = await fill(server.db, others)
      rows.push({ round: n, 'in flight': others, ...(await claims(server.db, worker)) })
      await server.drop()
    }
  }
  return rows
}

/**
 * @param {import('pg').Pool} db
 * @param {number} leased
 */
async function fill(db, leased) {
  const workers = await db.query(
    `insert into hookonce.worker (lease_until, host, pid)
     select now() + interval '1 hour', 'bench', n from generate_series(1, 2) n returning id`,
  )
  const [mine, other] = workers.rows.map((row) => row.id)
  await db.query(
    `with made as materialized (
       select gen_random_uuid() as id, n <= $1::integer as leased
       from generate_series(1, $1::integer + $2::integer) n
     ), receipt as (
       insert into hookonce.receipt (shard, id, secret, tenant, source, event_key, event_type, headers, body)
       select get_byte(uuid_send(id), 0) % 16, id, 1, 'default', 'stripe', 'evt_' || id, 'invoice.paid', '', '{}' from made
     )
     insert into hookonce.job (shard, receipt_id, subscriber, state, worker, fence, attempt, started_at)
     select get_byte(uuid_send(m.id), 0) % 16, m.id, s.id,
       (case when leased then 'processing' else 'received' end)::hookonce.job_state,
       case when leased then $3::integer end, leased::integer, leased::integer, case when leased then now() end
     from made m cross join hookonce.subscriber s`,
    [leased, CLAIMS * AT_ONCE, other],
  )
  await db.query('vacuum analyze')
  return Number(mine)
}

/**
 * @param {import('pg').Pool} db
 * @param {number} worker
 */
async function claims(db, worker) {
  const { rows } = await db.query('select id from hookonce.subscriber')
  const slots = new Map([[Number(rows[0].id), AT_ONCE]])
  /** @type {number[]} */
  const times = []
  for (let n = 0; n < CLAIMS; n += 1) {
    const startedAt = performance.now()
    await claimJobs(db, { shard: n % 16, worker, slots })
    times.push(performance.now() - startedAt)
  }
  const { p50, p99, max } = percentiles(times)
  return { 'p50 ms': p50.toFixed(2), 'p99 ms': p99.toFixed(2), 'max ms': max.toFixed(2) }
}
