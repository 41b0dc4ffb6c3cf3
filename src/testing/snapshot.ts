import { isDeepStrictEqual } from 'node:util'
import type { Pool } from 'pg'
import { userColumns } from '../ledger/testing/user-columns.ts'
import { type Row, tableRows } from './rows.ts'

/** The rows of the compared tables, by table, and the other values that must be equal. */
export interface Snapshot {
  readonly tables: Readonly<Record<string, readonly Row[]>>
  readonly observed: unknown
}

export interface SnapshotOptions {
  readonly tables?: readonly string[]
  readonly ignore?: readonly string[]
}

export async function snapshotOf(pool: Pool, options: SnapshotOptions, observed: unknown): Promise<Snapshot> {
  const columns = await userColumns(pool)
  const names = options.tables ?? [...new Set(columns.map(({ table }) => table))]
  const tables: Record<string, readonly Row[]> = {}
  for (const table of names) {
    const left = new Set([
      ...(options.ignore ?? []),
      ...columns
        .filter((column) => column.isMade && isSameTable(column.table, table))
        .map(({ name }) => name),
    ])
    const rows = await tableRows<Row>(pool, table)
    tables[table] = rows
      .map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !left.has(name))))
      .sort(byText)
  }
  return { tables, observed }
}

function isSameTable(full: string, given: string): boolean {
  return full === given || full === `public.${given}`
}

function byText(a: Row, b: Row): number {
  const [one, two] = [JSON.stringify(a), JSON.stringify(b)]
  return one < two ? -1 : Number(one > two)
}

const MAX_LINES = 20

/** The rows that differ, as text. Undefined if there are none. */
export function differences(expected: Snapshot, actual: Snapshot): string | undefined {
  if (isDeepStrictEqual(expected, actual)) return undefined
  const lines: string[] = []
  for (const [table, rows] of Object.entries(expected.tables)) {
    const others = actual.tables[table] ?? []
    const missing = without(rows, others)
    const extra = without(others, rows)
    if (missing.length + extra.length === 0) continue
    lines.push(`  ${table} (- expected, + after this schedule):`)
    lines.push(...missing.map((row) => `    - ${JSON.stringify(row)}`))
    lines.push(...extra.map((row) => `    + ${JSON.stringify(row)}`))
  }
  if (!isDeepStrictEqual(expected.observed, actual.observed)) {
    lines.push('  observe():', `    - ${JSON.stringify(expected.observed)}`)
    lines.push(`    + ${JSON.stringify(actual.observed)}`)
  }
  const rest = lines.length - MAX_LINES
  return [...lines.slice(0, MAX_LINES), ...(rest > 0 ? [`  … ${rest} more lines`] : [])].join('\n')
}

/** The rows that are missing in the other list. A row that is missing twice is listed twice. */
function without(rows: readonly Row[], others: readonly Row[]): Row[] {
  const left = [...others]
  return rows.filter((row) => {
    const at = left.findIndex((other) => isDeepStrictEqual(other, row))
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}
