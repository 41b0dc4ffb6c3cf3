import pg from 'pg'
import { HookonceError } from '../../model/errors.ts'
import { textOfThrown } from '../../model/thrown.ts'
import { type Alias, aliased, type Change, isEventDate } from '../changes.ts'
import { ageRows, type InsertedRows } from './age-rows.ts'
import { type PlacedRow, type Row, TABLES, type Table } from './tables.ts'

/*
 * Finds the changed rows. An open transaction keeps the earlier view of the database. At the end
 * both views are read, but only for rows that may have changed: rows with a new version, and rows
 * that a transaction replaced, deleted or locked since. Rows that are equal in both views are
 * dropped. So a large table is scanned, but not transferred.
 */

/** The rows of every user table, before and after. */
export interface RowWatcher {
  /** Starts to watch changes. */
  begin(): Promise<void>
  changes(aliases: readonly Alias[]): Promise<Change[]>
  /** Moves the dates of the inserted rows back. Returns the reason if that is not possible. */
  age(ms: number, aliases: readonly Alias[]): Promise<string | undefined>
  /** Runs the user's statement for a new object. */
  prepare(sql: string, objectId: string): Promise<void>
  /** The watched tables, and the other tables with the reason. */
  readonly tables: readonly string[]
  readonly unwatched: readonly string[]
  close(): Promise<void>
}

/** A database with more tables is too large to prove a receiver on. */
const MAX_TABLES = 1_000
/** If one delivery changes more rows of a table than this, they are not compared. */
const MAX_ROWS = 5_000

const horizonSql = `select txid_snapshot_xmin(txid_current_snapshot()) % 4294967296 as xid`

const snapshotSql = `select txid_current_snapshot()::text as snapshot`

const rowsSql = ({ quoted }: Table): string =>
  `select to_jsonb(t) as row, t.ctid::text as place from ${quoted} t where age(t.xmin) <= age($1::text::xid) or t.xmax::text <> '0' limit ${MAX_ROWS + 1}`

export async function watchRows(
  databaseUrl: string,
  isIgnored: (name: string) => boolean,
): Promise<RowWatcher> {
  const open = (): pg.Client =>
    new pg.Client({
      connectionString: databaseUrl,
      application_name: 'hookonce prove',
      options: '-c TimeZone=UTC -c statement_timeout=30000',
    })
  const [past, present] = [open(), open()]
  for (const client of [past, present]) {
    // Ignored: a running query reports the same error.
    client.on('error', () => undefined)
    await client.connect().catch((error) => {
      const fault = `--database cannot be reached: ${textOfThrown(error)}`
      throw new HookonceError('DATABASE_UNREACHABLE', fault, { cause: error })
    })
  }
  const { rows } = await present.query(TABLES)
  if (rows.length > MAX_TABLES)
    throw new HookonceError(
      'CONFIG_INVALID',
      `--database has ${rows.length} tables; at most ${MAX_TABLES} are watched`,
    )
  const wanted = rows.filter(({ name }) => !isIgnored(name))
  const tables: Table[] = wanted
    .filter(({ readable }) => readable)
    .map(({ dates, ...table }) => ({ ...table, dates: new Set(dates) }))
  let horizon = '0'
  /** If no transaction has begun or ended since, no row has changed. */
  let last: { snapshot: string; aliases: readonly Alias[]; changes: Change[] } | undefined

  return {
    tables: tables.map(({ name }) => name),
    unwatched: [
      ...wanted.filter(({ readable }) => !readable).map(({ name }) => `${name}: no permission to read it`),
      ...rows.filter(({ name }) => isIgnored(name)).map(({ name }) => `${name}: ignored`),
    ],
    async begin() {
      await past.query('rollback')
      await past.query('begin isolation level repeatable read read only')
      const { rows: found } = await past.query(horizonSql)
      horizon = String(found[0]?.xid)
      last = undefined
    },
    async changes(aliases) {
      const snapshot = String((await present.query(snapshotSql)).rows[0]?.snapshot)
      if (last?.snapshot === snapshot && last.aliases === aliases) return last.changes
      const changes: Change[] = []
      for (const table of tables) {
        const [before, after] = [rowsOf(await read(past, table)), rowsOf(await read(present, table))]
        changes.push(...changesOf(table, before, after, { aliases, isIgnored }))
      }
      last = { snapshot, aliases, changes }
      return changes
    },
    async age(ms, aliases) {
      const inserted: InsertedRows[] = []
      for (const table of tables) {
        const [before, after] = [rowsOf(await read(past, table)), await read(present, table)]
        const { come, isUpdated } = comparison(table, before, rowsOf(after))
        const added = new Set(come.filter((row) => !isUpdated(row)))
        inserted.push({ table, rows: after.filter(({ row }) => added.has(row)) })
      }
      return ageRows(present, inserted, { ms, aliases })
    },
    async prepare(sql, objectId) {
      try {
        await present.query(sql, /\$1/.test(sql) ? [objectId] : [])
      } catch (error) {
        throw new HookonceError('CONFIG_INVALID', `--prepare failed: ${textOfThrown(error)}`, {
          cause: error,
        })
      }
    },
    async close() {
      await Promise.all([past.end(), present.end()])
    },
  }

  async function read(client: pg.Client, table: Table): Promise<PlacedRow[]> {
    const found = await client.query(rowsSql(table), [horizon])
    if (found.rows.length > MAX_ROWS)
      throw new HookonceError(
        'CONFIG_INVALID',
        `more than ${MAX_ROWS} rows of ${table.name} changed at once; pass --ignore ${table.name} if it does not belong to the receiver`,
      )
    return found.rows
  }
}

interface ChangeFilter {
  readonly aliases: readonly Alias[]
  isIgnored(name: string): boolean
}

function changesOf(
  table: Table,
  before: readonly Row[],
  after: readonly Row[],
  filter: ChangeFilter,
): Change[] {
  const { gone, come, previousOf, isUpdated } = comparison(table, before, after)
  const change = (kind: Change['kind'], row: Row, previous?: Row): Change => ({
    where: table.name,
    kind,
    fields: fieldsOf(table, row, previous, filter),
  })
  return [
    ...come.map((row) =>
      isUpdated(row) ? change('updated', row, previousOf(row)) : change('inserted', row),
    ),
    ...gone.filter((row) => !isUpdated(row)).map((row) => change('deleted', row)),
  ].filter(({ kind, fields }) => kind !== 'updated' || Object.keys(fields).length > table.keys.length)
}

/** The rows of only one view. A row whose key is in both views was updated. */
function comparison(table: Table, before: readonly Row[], after: readonly Row[]) {
  const text = (row: Row): string => JSON.stringify(row)
  const gone = without(before, after, text)
  const come = without(after, before, text)
  const keyOf = (row: Row): string => JSON.stringify(table.keys.map((key) => row[key]))
  const old = new Map(table.keys.length === 0 ? [] : gone.map((row) => [keyOf(row), row]))
  const updated = come.filter((row) => old.has(keyOf(row)))
  const updatedKeys = new Set(updated.map(keyOf))
  return {
    gone,
    come,
    previousOf: (row: Row): Row | undefined => old.get(keyOf(row)),
    isUpdated: (row: Row): boolean => table.keys.length > 0 && updatedKeys.has(keyOf(row)),
  }
}

function rowsOf(placed: readonly PlacedRow[]): Row[] {
  return placed.map(({ row }) => row)
}

/**
 * The rows of one list that are missing in the other. A row that is missing twice is listed twice.
 */
function without(rows: readonly Row[], others: readonly Row[], text: (row: Row) => string): Row[] {
  const counts = new Map<string, number>()
  for (const row of others) counts.set(text(row), (counts.get(text(row)) ?? 0) + 1)
  return rows.filter((row) => {
    const left = counts.get(text(row)) ?? 0
    counts.set(text(row), left - 1)
    return left <= 0
  })
}

/** The fields of an updated row: its key and the changes, with numbers as differences. */
function fieldsOf(
  table: Table,
  row: Row,
  previous: Row | undefined,
  { aliases, isIgnored }: ChangeFilter,
): Change['fields'] {
  const fields: Record<string, string> = {}
  for (const [column, value] of Object.entries(row)) {
    const isKey = table.keys.includes(column)
    if (!isKey && (isIgnored(`${table.name}.${column}`) || BOOKKEEPING.test(column))) continue
    const old = previous?.[column]
    if (previous && !isKey && JSON.stringify(old) === JSON.stringify(value)) continue
    const text = aliased(value, aliases)
    // A date that belongs to no event is the time of this run.
    if (table.dates.has(column) && value !== null && !isEventDate(text)) continue
    const isCount = previous && !isKey && typeof value === 'number' && typeof old === 'number'
    fields[column] = isCount ? signed(value - old) : text
  }
  return fields
}

/** Counters of deliveries and attempts, which a correct receiver may keep. */
const BOOKKEEPING =
  /^(attempts?|attempt_count|tries|retries|retry_count|deliveries|delivery_count|seen_count|duplicates|duplicate_count)$/i

function signed(value: number): string {
  return value > 0 ? `+${value}` : String(value)
}
