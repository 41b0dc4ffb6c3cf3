import pg from 'pg'
import { textOfThrown } from '../../model/thrown.ts'
import { type Alias, aliased, isEventDate } from '../changes.ts'
import type { PlacedRow, Table } from './tables.ts'

/*
 * Makes the rows of an event old: moves the dates back that the receiver set itself, as if the
 * event had arrived earlier. Dates of the event and keys stay the same.
 */

export interface InsertedRows {
  readonly table: Table
  readonly rows: readonly PlacedRow[]
}

interface Age {
  readonly ms: number
  /** The names of the dates of events. */
  readonly aliases: readonly Alias[]
}

/** Returns the reason if no date could be moved. */
export async function ageRows(
  client: pg.Client,
  inserted: readonly InsertedRows[],
  age: Age,
): Promise<string | undefined> {
  const updates = inserted.flatMap(({ table, rows }) => rows.flatMap((row) => updateOf(table, row, age)))
  if (updates.length === 0) return 'the event inserted no row with a date that the receiver set itself'
  await client.query('begin')
  try {
    for (const { sql, place } of updates) await client.query(sql, [age.ms / 1_000, place])
    await client.query('commit')
    return undefined
  } catch (error) {
    await client.query('rollback')
    return `the dates of the rows cannot be moved: ${textOfThrown(error)}`
  }
}

interface Update {
  readonly sql: string
  readonly place: string
}

function updateOf(table: Table, { row, place }: PlacedRow, { aliases }: Age): Update[] {
  const columns = table.movable.filter((column) => {
    const value = row[column]
    return value !== null && !table.keys.includes(column) && !isEventDate(aliased(value, aliases))
  })
  if (columns.length === 0) return []
  const moved = columns.map((column) => {
    const name = pg.escapeIdentifier(column)
    return `${name} = ${name} - make_interval(secs => $1)`
  })
  return [{ sql: `update ${table.quoted} set ${moved.join(', ')} where ctid = $2::tid`, place }]
}
