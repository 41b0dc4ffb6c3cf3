import type { Pool, PoolClient } from 'pg'
import { HookonceError } from '../../model/errors.ts'
import { withConnection } from '../driver/in-transaction.ts'
import { inSchemaText, type Shape, schemaOf, shapeOf } from '../driver/schema.ts'

/*
 * Ledgers on Citus: a distributed schema lives whole on one node, and moves as a whole. Not
 * prepared statements: each is sent once per process or command.
 */

/** A node of a Citus cluster. */
export interface CitusNode {
  readonly host: string
  readonly port: number
}

const HAS_CITUS = `select exists (select from pg_extension where extname = 'citus') as found`
const NODE = `select n.nodename as host, n.nodeport as port
  from pg_dist_partition t
  join pg_dist_shard s on s.logicalrelid = t.logicalrelid
  join pg_dist_placement p on p.shardid = s.shardid
  join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
  where t.logicalrelid = to_regclass($1)`
const TABLES = `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
  where schemaname = $1`
/*
 * The triggers of the ledger write only to tables of the same schema, which are on the same node.
 * Citus cannot know that, and calls all triggers unsafe.
 */
export const ALLOW_TRIGGERS = 'set citus.enable_unsafe_triggers = on'

type Db = Pick<Pool | PoolClient, 'query'>

async function hasCitus(db: Db): Promise<boolean> {
  return (await db.query(HAS_CITUS)).rows[0]?.found === true
}

/** The node of the ledger. Undefined: the ledger is not distributed. */
export async function nodeOf(db: Db): Promise<CitusNode | undefined> {
  if (!(await hasCitus(db))) return undefined
  const { rows } = await db.query(NODE, [inSchemaText('ledger.receipt', schemaOf(db))])
  return rows[0]
}

/** The shape of the statements for this ledger: see driver/shapes.ts. */
export async function findShape(pool: Pool): Promise<Shape> {
  return (await nodeOf(pool)) === undefined ? shapeOf(pool) : 'distributed'
}

/** Distributes the schema of a ledger. Returns its node. Changes nothing if it is distributed. */
export async function distribute(pool: Pool): Promise<CitusNode> {
  const schema = schemaOf(pool)
  return withConnection(pool, async (client) => {
    if (!(await hasCitus(client)))
      throw new HookonceError(
        'CONFIG_INVALID',
        'the database has no Citus: run `create extension citus` on every node, or leave --distribute out',
      )
    if ((await nodeOf(client)) === undefined) {
      await client.query(ALLOW_TRIGGERS)
      await client.query('select citus_schema_distribute($1::regnamespace)', [schema])
      await dropLocalRows(client, schema)
    }
    const node = await nodeOf(client)
    if (!node) throw new Error(`Citus names no node for the schema ${schema} that it has distributed`)
    return node
  })
}

/** Citus copies the rows to the node, and leaves those on the coordinator, unseen. */
async function dropLocalRows(client: PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query(TABLES, [schema])
  for (const { name } of rows)
    await client.query('select truncate_local_data_after_distributing_table($1::regclass)', [name])
}

/** Moves a ledger to another node. Citus copies it while work goes on, and then switches. */
export async function moveToNode(pool: Pool, { host, port }: CitusNode): Promise<void> {
  const schema = schemaOf(pool)
  await withConnection(pool, async (client) => {
    if ((await nodeOf(client)) === undefined)
      throw new HookonceError(
        'CONFIG_INVALID',
        `the ledger ${schema} is not distributed; run \`hookonce migrate --distribute\` first`,
      )
    await client.query(ALLOW_TRIGGERS)
    await client.query('select citus_schema_move($1::regnamespace, $2::text, $3::integer)', [
      schema,
      host,
      port,
    ])
  })
}
