import { schemaOf } from '../driver/schema.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'

const LEDGER_TABLES = statement(
  'ledger_tables',
  `select c.relname::text as name, pg_total_relation_size(c.oid)::float8 as bytes,
     coalesce(s.n_live_tup, 0)::float8 as live, coalesce(s.n_dead_tup, 0)::float8 as dead,
     greatest(s.last_autovacuum, s.last_vacuum) as "vacuumedAt",
     coalesce('autovacuum_enabled=false' = any(c.reloptions) or 'autovacuum_enabled=off' = any(c.reloptions), false)
       as "isVacuumOff"
   from pg_class c
   join pg_namespace n on n.oid = c.relnamespace
   left join pg_stat_all_tables s on s.relid = c.oid
   where n.nspname = $1::text and c.relkind in ('r', 'p')
   order by bytes desc`,
)

/** A table of the ledger, as the server's statistics describe it. */
export interface LedgerTable {
  readonly name: string
  /** With its indexes. */
  readonly bytes: number
  readonly live: number
  /** Versions of rows that vacuum has not removed yet. */
  readonly dead: number
  readonly vacuumedAt: Date | null
  /** Autovacuum is turned off for this table. */
  readonly isVacuumOff: boolean
}

/** The largest first. Reads the catalogue only, so it also works without rights on the tables. */
export function ledgerTables(db: Queryable): Promise<LedgerTable[]> {
  return rows(db, LEDGER_TABLES, [schemaOf(db)])
}

const SCHEMA_RIGHTS = statement(
  'schema_rights',
  `select has_schema_privilege(n.oid, 'usage') as "hasUsage", has_schema_privilege(n.oid, 'create') as "hasCreate"
   from pg_namespace n where n.nspname = $1::text`,
)

const MISSING_RIGHTS = statement(
  'missing_rights',
  `select c.relname::text as name, array_agg(p.privilege order by p.privilege) as missing
   from pg_class c
   join pg_namespace n on n.oid = c.relnamespace
   cross join lateral (
     select privilege from unnest(
       case when c.relkind = 'S' then array['usage']
            when c.relname in ('migration', 'setting') then array['select']
            else array['select', 'insert', 'update', 'delete'] end) as one(privilege)
   ) p
   where n.nspname = $1::text and c.relkind in ('r', 'p', 'S')
     and not case when c.relkind = 'S' then has_sequence_privilege(c.oid, p.privilege)
                  else has_table_privilege(c.oid, p.privilege) end
   group by c.relname order by c.relname`,
)

export interface SchemaRights {
  readonly hasUsage: boolean
  readonly hasCreate: boolean
  /** Tables and sequences on which this role lacks a right that running processes need. */
  readonly missing: readonly { readonly name: string; readonly missing: readonly string[] }[]
}

/** Undefined: there is no such schema. */
export async function schemaRights(db: Queryable): Promise<SchemaRights | undefined> {
  const schema = schemaOf(db)
  const [found] = await rows<Omit<SchemaRights, 'missing'>>(db, SCHEMA_RIGHTS, [schema])
  if (found === undefined) return undefined
  const missing = await rows<SchemaRights['missing'][number]>(db, MISSING_RIGHTS, [schema])
  return { ...found, missing }
}
