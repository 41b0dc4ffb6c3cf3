/** A table whose rows are compared. */
export interface Table {
  readonly name: string
  readonly quoted: string
  readonly keys: readonly string[]
  /** Columns of dates and times: a value counts only if it is the date of an event. */
  readonly dates: ReadonlySet<string>
  /** The dates that a statement can move. */
  readonly movable: readonly string[]
}

/** All user tables. */
export const TABLES = `
  select format('%s.%s', n.nspname, c.relname) as name, format('%I.%I', n.nspname, c.relname) as quoted,
    has_table_privilege(c.oid, 'select') as readable,
    coalesce((select array_agg(a.attname::text) from pg_index i
      join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
      where i.indrelid = c.oid and i.indisprimary), '{}') as keys,
    coalesce((select array_agg(a.attname::text) from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0
        and a.atttypid in ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype, 'time'::regtype)), '{}') as dates,
    coalesce((select array_agg(a.attname::text) from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
        and a.atttypid in ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype)), '{}') as movable
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and n.nspname !~ '^(pg_|information_schema$)'
  order by 1`

export type Row = Readonly<Record<string, unknown>>

export interface PlacedRow {
  readonly row: Row
  /** The physical place of this version of the row. */
  readonly place: string
}
