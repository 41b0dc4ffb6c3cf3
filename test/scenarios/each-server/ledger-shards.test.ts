import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { inSchemaText } from '../../../src/ledger/driver/schema.ts'
import {
  definedStatements,
  type PreparedStatement,
  type Statement,
} from '../../../src/ledger/driver/statement.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'

/*
 * Rows are found and locked by their shard: every plan of the ledger that locks or changes rows of
 * a sharded table has a condition on the shard. Statements for one shard could run unchanged on a
 * PostgreSQL that is distributed by shard. Statements for batches name the shard of each row.
 */

/**
 * A batch of rows from several shards would first have to be split by shard. The work of a tenant
 * is in all shards.
 */
const OF_MANY_SHARDS = [
  'complete',
  'complete_with_steps',
  'complete_written',
  'fence_lanes_of_tenant',
  'fence_runs_of_tenant',
  'hold_lanes_of_tenant',
  'let_go',
  'lock_expired',
  'release_lanes_of_tenant',
  'settle',
  'settle_lanes',
  'settle_only',
]

/**
 * These statements read views that only some versions of PostgreSQL have, and no row of the ledger.
 */
const OF_SOME_VERSIONS = ['hookonce_checkpoints', 'hookonce_checkpoints_before_17']

test('every statement that locks or changes rows names their shard', async () => {
  const statements = (await everyStatement()).map(({ name, text }) => ({
    name: `hookonce_${name}`,
    text: inSchemaText(text, 'hookonce'),
  }))
  const db = await freshDatabase()
  const sharded = new Set(
    (
      await db.rows<{ table_name: string }>(
        `select table_name from information_schema.columns where table_schema = 'hookonce' and column_name = 'shard'`,
      )
    ).map((row) => row.table_name),
  )
  const without: string[] = []
  const many: string[] = []
  let locking = 0
  for (const statement of statements) {
    if (OF_SOME_VERSIONS.includes(statement.name)) continue
    const grips = gripsOf(await planOf(db, statement)).filter(({ table }) => sharded.has(table))
    if (grips.length > 0) locking += 1
    for (const { table, where } of grips) if (!SHARD.test(where)) without.push(`${statement.name}: ${table}`)
    if (grips.some(({ where }) => !ONE_SHARD.test(where))) many.push(statement.name)
  }
  expect(locking).toBeGreaterThan(20)
  expect(without).toEqual([])
  expect(many.sort()).toEqual(OF_MANY_SHARDS.map((name) => `hookonce_${name}`))
})

test('no statement names a schema, and its name leaves room for the longest schema', async () => {
  const written = await everyStatement()
  expect(written.length).toBeGreaterThan(80)
  expect(written.filter(({ text }) => /hookonce"?\./.test(text)).map(({ name }) => name)).toEqual([])
  const longest = `${'s'.repeat(30)}_`.length
  // PostgreSQL cuts longer names, so two of them could become equal.
  expect(written.filter(({ name }) => longest + name.length > 63)).toEqual([])
})

/** Each statement as written, without the name of a schema. */
async function everyStatement(): Promise<Statement[]> {
  const folder = fileURLToPath(new URL('../../../src/ledger/', import.meta.url))
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.ts') && !file.endsWith('.d.ts') && !file.endsWith('.test.ts'))
      await import(folder + file)
  }
  return definedStatements()
}

interface Plan {
  readonly 'Node Type': string
  readonly Operation?: string
  readonly 'Relation Name'?: string
  readonly 'Parent Relationship'?: string
  readonly Plans?: readonly Plan[]
  readonly [other: string]: unknown
}

/** The generic plan of a connection, for any parameters. */
async function planOf(db: TestDatabase, { name, text }: PreparedStatement): Promise<Plan> {
  const client = await db.pool.connect()
  try {
    await client.query(`prepare ${name} as ${text}`)
    const { rows } = await client.query(
      'select cardinality(parameter_types) as count from pg_prepared_statements where name = $1',
      [name],
    )
    const nulls = Array.from({ length: rows[0].count }, () => 'null').join(', ')
    await client.query('set plan_cache_mode = force_generic_plan')
    const explained = await client.query(
      `explain (format json, costs off) execute ${name}${nulls && `(${nulls})`}`,
    )
    return explained.rows[0]['QUERY PLAN'][0].Plan
  } finally {
    await client.query(`deallocate all`)
    client.release()
  }
}

/** A table whose rows a plan locks or changes, and all conditions on its rows. */
interface Grip {
  readonly table: string
  readonly where: string
}

const SHARD = /\bshard\)? = |= \(?\w*\.?shard\b/
const ONE_SHARD = /\bshard = (\(?\$\d+\)?|'?\d+'?)(::smallint)?\)/

const CONDITIONS = ['Index Cond', 'Recheck Cond', 'Filter', 'Hash Cond', 'Merge Cond', 'Join Filter']

function gripsOf(plan: Plan): Grip[] {
  const below = (plan.Plans ?? []).flatMap(gripsOf)
  if (plan['Node Type'] === 'LockRows') return [...scansOf(plan, ''), ...below]
  if (plan['Node Type'] !== 'ModifyTable' || plan.Operation === 'Insert') return below
  const target = plan['Relation Name']
  return [...scansOf(plan, '').filter(({ table }) => table === target), ...below]
}

/** The scans of this node itself, without its subplans and CTEs. */
function scansOf(plan: Plan, above: string): Grip[] {
  const where = `${above} ${CONDITIONS.map((condition) => plan[condition] ?? '').join(' ')}`
  const children = (plan.Plans ?? []).filter(
    (child) => !/InitPlan|SubPlan/.test(child['Parent Relationship'] ?? ''),
  )
  const table = plan['Relation Name']
  const own = table !== undefined && plan['Node Type'] !== 'ModifyTable' ? [{ table, where }] : []
  return [...own, ...children.flatMap((child) => scansOf(child, where))]
}
