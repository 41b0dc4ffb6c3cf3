import type { Pool } from 'pg'
import { DEFAULT_SCHEMA } from '../../model/schema-name.ts'

/*
 * A ledger is one schema, and one database may hold several. So no SQL of ours has a fixed schema:
 * it writes `ledger.job`, and the real name replaces `ledger` when the statement is sent. A pool is
 * marked with its schema; a connection has the schema of the pool that it was taken from.
 */

const schemas = new WeakMap<object, string>()

/** How the statements of a ledger are written: see shapes.ts. */
export type Shape = 'plain' | 'distributed'

const shapes = new WeakMap<object, Shape>()

let defaultShape: Shape = 'plain'

/** The shape of unmarked pools. Tests send the distributed shape to a server without Citus. */
export function setDefaultShape(shape: Shape): void {
  defaultShape = shape
}

export function shapeOf(db: object): Shape {
  return shapes.get(db) ?? defaultShape
}

export function setShape(db: object, shape: Shape): void {
  shapes.set(db, shape)
}

/** Marks a connection with the schema and the shape of its pool. */
export function markLike<Db extends object>(db: Db, pool: object): Db {
  shapes.set(db, shapeOf(pool))
  return setSchema(db, schemaOf(pool))
}

/** The schema of a pool or connection. Unmarked pools use the default. */
export function schemaOf(db: object): string {
  return schemas.get(db) ?? DEFAULT_SCHEMA
}

export function setSchema<Db extends object>(db: Db, schema: string): Db {
  schemas.set(db, schema)
  return db
}

/**
 * The caller's pool, marked for one ledger. A view, because another ledger may use the same pool
 * with another schema.
 */
export function viewOf(pool: Pool, schema: string): Pool {
  const view = new Proxy(pool, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return setSchema(view, schema)
}

/** Replaces `ledger` in the text by the name of the schema. */
export function inSchemaText(text: string, schema: string): string {
  return text.replaceAll(/\bledger\.(?=\w)/g, `"${schema}".`)
}
