import type { Pool } from 'pg'
import { inTransaction } from '../driver/in-transaction.ts'
import { inSchemaText, schemaOf } from '../driver/schema.ts'

/*
 * All rows of one tenant: copied to another ledger, or deleted. Rows travel as JSON text, by the
 * names of their columns, so that two ledgers need not have added their columns in the same order.
 * Not prepared: a move sends each statement a few times.
 */

/** Rows per commit: few, so that no lock is held for long. */
const BATCH = 200
/**
 * Bytes of bodies, payloads and results per batch. A batch of JSON text has about twice as many
 * characters, and Node's strings end at 512 million. A single larger row is a batch by itself.
 */
const BATCH_BYTES = 16 * 1024 * 1024
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** Tables with a row for each receipt, job or run. They go with the receipt. */
const OF_RECEIPT = ['duplicate', 'job', 'attempt', 'step', 'attention'] as const
/** Tables with an id of their own, and a tenant. */
const OF_TENANT = ['effect', 'entity', 'outbox'] as const
/** The columns without a small limit. */
const LARGE_COLUMN = {
  receipt: 'octet_length(body)',
  effect: 'octet_length(result::text)',
  entity: '0',
  outbox: 'octet_length(payload::text)',
} as const
/** Small tables. The first three come first: other rows refer to them. */
const SMALL = ['source', 'subscriber', 'data_key', 'rollup', 'alert'] as const

type Table =
  | 'receipt'
  | 'lane'
  | 'outbox_lane'
  | (typeof OF_RECEIPT | typeof OF_TENANT | typeof SMALL)[number]

export interface CopyOptions {
  readonly from: Pool
  readonly to: Pool
  readonly shards: number
  readonly tenant: string
  /** Throws if the copy has become useless. */
  beforeBatch(): Promise<void>
}

/**
 * Copies every row of the tenant. The rows must not change meanwhile. Every commit waits for the
 * disk: after the switch, the old rows are deleted.
 */
export async function copyTenant({ from, to, shards, tenant, beforeBatch }: CopyOptions): Promise<void> {
  await beforeBatch()
  for (const table of SMALL) await copySmall({ from, to, tenant }, table)
  // The audit numbers its rows in each ledger anew.
  const audit = await readText(from, 'audit', 'where tenant = $1 order by id', [tenant])
  await inTransaction(to, async (client) => {
    await run(client, INSERT_AUDIT, [audit])
    await client.query('commit')
  })
  for (let shard = 0; shard < shards; shard += 1) {
    for await (const ids of idsOf(from, 'receipt', { shard, tenant })) {
      await beforeBatch()
      const rows: TableRows[] = [{ table: 'receipt', text: await byId(from, 'receipt', shard, ids) }]
      for (const table of OF_RECEIPT)
        rows.push({
          table,
          text: await readText(from, table, 'where shard = $1 and receipt_id = any ($2)', [shard, ids]),
        })
      const lanes = await query(from, LANES_OF_JOBS, [shard, ids])
      rows.push({ table: 'lane', text: await byIds(from, 'lane', shards, lanes.map(String)) })
      await insertAll(to, tenant, rows)
    }
    for (const table of OF_TENANT)
      for await (const ids of idsOf(from, table, { shard, tenant })) {
        await beforeBatch()
        const rows: TableRows[] = [{ table, text: await byId(from, table, shard, ids) }]
        if (table === 'outbox') {
          const lanes = await query(from, LANES_OF_MESSAGES, [shard, ids])
          rows.push({
            table: 'outbox_lane',
            text: await byIds(from, 'outbox_lane', shards, lanes.map(String)),
          })
        }
        await insertAll(to, tenant, rows)
      }
  }
  await inTransaction(to, async (client) => {
    await run(client, FORGET_LIMITERS, [tenant])
    await run(client, FORGET_SWEEPS, [])
    await client.query('commit')
  })
}

/**
 * The rows are locked until their copies are committed: a data key that is forgotten meanwhile must
 * be forgotten in both ledgers.
 */
async function copySmall(
  { from, to, tenant }: Pick<CopyOptions, 'from' | 'to' | 'tenant'>,
  table: (typeof SMALL)[number],
): Promise<void> {
  await inTransaction(from, async (client) => {
    const text = await readText(client, table, 'where tenant = $1 for update', [tenant])
    await insertAll(to, tenant, [{ table, text }])
    await client.query('commit')
  })
}

/** Deletes every row of the tenant, except its place. */
export async function deleteTenant(pool: Pool, shards: number, tenant: string): Promise<void> {
  for (let shard = 0; shard < shards; shard += 1) {
    for await (const ids of idsOf(pool, 'receipt', { shard, tenant }))
      await inTransaction(pool, async (client) => {
        const lanes = await query(client, LANES_OF_JOBS, [shard, ids])
        for (const table of OF_RECEIPT)
          await run(client, `delete from ledger.${table} where shard = $1 and receipt_id = any ($2)`, [
            shard,
            ids,
          ])
        await run(client, 'delete from ledger.receipt where shard = $1 and id = any ($2)', [shard, ids])
        await deleteByIds(client, 'lane', shards, lanes.map(String))
        await client.query('commit')
      })
    for (const table of OF_TENANT)
      for await (const ids of idsOf(pool, table, { shard, tenant }))
        await inTransaction(pool, async (client) => {
          const lanes = table === 'outbox' ? await query(client, LANES_OF_MESSAGES, [shard, ids]) : []
          await run(client, `delete from ledger.${table} where shard = $1 and id = any ($2)`, [shard, ids])
          await deleteByIds(client, 'outbox_lane', shards, lanes.map(String))
          await client.query('commit')
        })
  }
  // Waits for the disk: once the record no longer names this ledger, no erasure looks here for a key.
  await inTransaction(pool, async (client) => {
    for (const table of ['audit', ...SMALL.toReversed()] as const)
      await run(client, `delete from ledger.${table} where tenant = $1`, [tenant])
    await client.query('commit')
  })
}

/** Ids that a copy would bring and that another tenant has there. */
export async function takenIds({
  from,
  to,
  tenant,
}: Pick<CopyOptions, 'from' | 'to' | 'tenant'>): Promise<string[]> {
  const taken: string[] = []
  for (const table of ['subscriber', 'data_key'] as const) {
    const ids = await query(from, `select id from ledger.${table} where tenant = $1`, [tenant])
    const found = await query(to, `select id from ledger.${table} where id = any ($1) and tenant <> $2`, [
      ids,
      tenant,
    ])
    taken.push(...found.map((id) => `${table} ${String(id)}`))
  }
  return taken
}

const LANES_OF_JOBS = `select distinct lane from ledger.job
  where shard = $1 and receipt_id = any ($2) and lane is not null`
const LANES_OF_MESSAGES = `select distinct lane from ledger.outbox
  where shard = $1 and id = any ($2) and state = 'waiting'`
/* The processes that use the new ledger register their limiters there. */
const FORGET_LIMITERS = 'update ledger.subscriber set limiter = null, held_at = null where tenant = $1'
/* The bodies that came may be older than the marks of the sweeps there. */
const FORGET_SWEEPS = 'delete from ledger.sweep'
const INSERT_AUDIT = `insert into ledger.audit overriding system value
  select (json_populate_record(a, json_build_object('id', nextval(pg_get_serial_sequence('ledger.audit', 'id'))))).*
  from json_populate_recordset(null::ledger.audit, $1::json) a`

interface TableRows {
  readonly table: Table
  /** JSON of its rows. */
  readonly text: string
}

type Db = Pick<Pool, 'query'>

/** The ids of all rows, in batches of few rows and bytes. */
async function* idsOf(
  db: Pool,
  table: 'receipt' | (typeof OF_TENANT)[number],
  { shard, tenant }: { readonly shard: number; readonly tenant: string },
): AsyncGenerator<string[]> {
  const text = `select id from (
      select id, sum(bytes) over (order by id) - bytes as bytes_before from (
        select id, coalesce(sum(${LARGE_COLUMN[table]}), 0) as bytes from ledger.${table}
        where shard = $1 and tenant = $2 and id > $3
        group by id order by id limit ${BATCH}
      ) sized
    ) batch where bytes_before < ${BATCH_BYTES} order by id`
  for (let after = FIRST_ID; ; ) {
    const ids = (await query(db, text, [shard, tenant, after])).map(String)
    const last = ids.at(-1)
    if (last === undefined) return
    yield ids
    after = last
  }
}

function byId(db: Db, table: Table, shard: number, ids: readonly string[]): Promise<string> {
  return readText(db, table, 'where shard = $1 and id = any ($2)', [shard, ids])
}

/** The shard of a lane follows from its own id, so every shard is probed. */
function byIds(db: Db, table: Table, shards: number, ids: readonly string[]): Promise<string> {
  return readText(db, table, 'where shard = any ($1) and id = any ($2)', [allOf(shards), ids])
}

async function deleteByIds(db: Db, table: Table, shards: number, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await run(db, `delete from ledger.${table} where shard = any ($1) and id = any ($2)`, [allOf(shards), ids])
}

function allOf(shards: number): number[] {
  return Array.from({ length: shards }, (_, shard) => shard)
}

/** As text: a JavaScript number would lose digits, and `json` columns keep their bytes. */
async function readText(db: Db, table: string, where: string, values: unknown[]): Promise<string> {
  const [text] = await query(
    db,
    `select coalesce(json_agg(t), '[]')::text from (select * from ledger.${table} ${where}) t`,
    values,
  )
  return String(text)
}

async function insertAll(to: Pool, tenant: string, rows: readonly TableRows[]): Promise<void> {
  await inTransaction(to, async (client) => {
    // The ledger may refuse receipts of the tenant, because it lived there before.
    await client.query(`select set_config('hookonce.moving', $1, true)`, [tenant])
    for (const { table, text } of rows) await insert(client, table, text)
    await client.query('commit')
  })
}

async function insert(db: Db, table: Table, text: string): Promise<void> {
  if (text === '[]') return
  await run(
    db,
    `insert into ledger.${table} overriding system value
     select * from json_populate_recordset(null::ledger.${table}, $1::json)
     on conflict do nothing`,
    [text],
  )
}

async function run(db: Db, text: string, values: unknown[]): Promise<number> {
  const result = await db.query(inSchemaText(text, schemaOf(db)), values)
  return result.rowCount ?? 0
}

/** The values of the first column. */
async function query(db: Db, text: string, values: unknown[]): Promise<unknown[]> {
  const { rows, fields } = await db.query(inSchemaText(text, schemaOf(db)), values)
  const name = fields[0]?.name ?? ''
  return rows.map((row: Record<string, unknown>) => row[name])
}
