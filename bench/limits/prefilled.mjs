// @ts-check
import { hookonce, stripe } from '../product.mjs'
import { secret } from '../stripe/deliveries.mjs'

const FILL_AT_ONCE = 250_000

/**
 * A server that always returns the same database, with a ledger in it: the rows that rounds add
 * stay.
 * @param {import('../servers/postgres.mjs').Postgres} postgres
 * @returns {Promise<import('../servers/postgres.mjs').Postgres & { db: import('pg').Pool, drop(): Promise<void> }>}
 */
export async function keptDatabase(postgres) {
  const database = await postgres.database()
  const hooks = hookonce({ database: database.url, sources: { stripe: stripe({ secret }) } }).on(
    'stripe',
    'invoice.paid',
    async () => undefined,
  )
  await hooks.ledger()
  await hooks.stop()
  return {
    ...postgres,
    db: database.pool,
    database: async () => {
      await database.pool.query('checkpoint')
      return { ...database, drop: async () => undefined }
    },
    drop: database.drop,
  }
}

/**
 * Receipts of the last 90 days, without bodies, with processed jobs.
 * @param {import('pg').Pool} db
 * @param {number} receipts
 */
export async function fillHistory(db, receipts) {
  for (let done = 0; done < receipts; done += FILL_AT_ONCE) {
    process.stderr.write(`  history: ${done} of ${receipts}\r`)
    await db.query(
      `with made as materialized (
         select gen_random_uuid() as id, now() - interval '90 days' * (1 - ($1::float8 + n) / $3) as at, n
         from generate_series(1, $2::integer) n
       ), receipt as (
         insert into hookonce.receipt
           (shard, id, secret, tenant, source, event_key, event_type, object_id, body_sha256, received_at)
         select get_byte(uuid_send(id), 0) % 16, id, 1, 'default', 'stripe', 'evt_' || id, 'invoice.paid', 'in_' || id,
           sha256(uuid_send(id)), at
         from made
       )
       insert into hookonce.job
         (shard, receipt_id, subscriber, state, fence, attempt, born_at, due_at, started_at, finished_at)
       select get_byte(uuid_send(m.id), 0) % 16, m.id, s.id, 'processed', 1, 1, at, at, at, at
       from made m cross join hookonce.subscriber s`,
      [done, Math.min(FILL_AT_ONCE, receipts - done), receipts],
    )
  }
  await db.query('vacuum analyze')
}
