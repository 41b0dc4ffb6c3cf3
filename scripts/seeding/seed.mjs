// Fills an empty, migrated ledger with the events of an invented shop.
import { countFailures } from '../../dist/upkeep/count-failures.js'
import { BATCH, SCRATCH } from './batch.mjs'
import { ERRORS, KINDS, SUBSCRIBERS } from './kinds.mjs'
import { ONCE, WORKERS } from './once.mjs'

const PER_BATCH = 50_000
/** The number of shards of a migrated ledger. */
const SHARDS = 16
/** How long the seeded sources keep keys and bodies. */
const RETENTION_SECONDS = 90 * 24 * 60 * 60

export async function seedLedger(
  pool,
  { receipts, seed = 1, now = new Date(), onProgress = () => undefined },
) {
  const client = await pool.connect()
  try {
    // After a crash the ledger is seeded again, so no commit has to wait for the disk.
    await client.query('set synchronous_commit = off')
    await client.query(SCRATCH)
    await addSubscribers(client)
    const given = { receipts, seed, now: now.toISOString() }
    await run(client, WORKERS, given)
    for (let from = 0; from < receipts; from += PER_BATCH) {
      const last = Math.min(from + PER_BATCH, receipts) - 1
      await addBatch(client, { ...given, first: from, last })
      onProgress(last + 1)
    }
    // Adds up the counts, as the upkeep of a worker does: a seeded ledger may have no worker.
    while ((await countFailures({ pool, shards: SHARDS })).changes > 0);
    await client.query('vacuum analyze')
    for (const text of ONCE) await run(client, text, given)
  } finally {
    // The temporary tables and settings end with the connection.
    client.release(true)
  }
}

async function addSubscribers(client) {
  for (const source of new Set(SUBSCRIBERS.map((one) => one.source)))
    await client.query(
      'insert into hookonce.source (tenant, name, key_seconds, body_seconds) values ($1, $2, $3, $3)',
      ['default', source, RETENTION_SECONDS],
    )
  for (const { source, name, pattern } of SUBSCRIBERS)
    await client.query(
      'insert into hookonce.subscriber (tenant, source, name, pattern) values ($1, $2, $3, $4)',
      ['default', source, name, pattern],
    )
  // A kind of weight 9 has nine slots.
  const slots = KINDS.flatMap((kind) => Array.from({ length: kind.weight }, () => kind))
  for (const [slot, { source, type, key, object, body, headers, subscribers }] of slots.entries())
    await client.query('insert into seed_kind values ($1, $2, $3, $4, $5, $6, $7, $8)', [
      slot,
      source,
      type,
      key,
      object,
      body,
      headers,
      subscribers,
    ])
  for (const [index, { subscriber, text, stack, isFinal }] of ERRORS.entries()) {
    const own = ERRORS.filter((error) => error.subscriber === subscriber)
    const place = ERRORS.slice(0, index).filter((error) => error.subscriber === subscriber).length
    await client.query('insert into seed_error values ($1, $2, $3, $4, $5, $6)', [
      subscriber,
      place,
      own.length,
      text,
      stack,
      isFinal,
    ])
  }
}

async function addBatch(client, values) {
  await client.query('begin')
  for (const text of BATCH) await run(client, text, values)
  await client.query('commit')
}

/** Values have names in these statements, because each statement uses only some of them. */
function run(client, text, values) {
  return client.query(
    text.replaceAll(/(?<!:):(first|last|receipts|seed|now)\b/g, (_, name) =>
      client.escapeLiteral(String(values[name])),
    ),
  )
}
