import { readdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/**
 * The folder of this package's migrations. Not `new URL('./', import.meta.url)`: bundlers read that
 * as an asset, and fail because it is a folder.
 */
export const MIGRATIONS = pathToFileURL(`${dirname(fileURLToPath(import.meta.url))}/`)

/** One numbered .sql file. docs/upgrades.md explains how to write one. */
export interface Migration {
  readonly id: number
  readonly name: string
  readonly sql: string
  /** Binaries that know only the migrations up to this number still work after it. */
  readonly oldestBinary: number
  /** The index that the file creates or drops outside a transaction. */
  readonly concurrentIndex: string | undefined
}

/** Reads the migrations of a folder, in the order of their numbers. */
export async function migrationsIn(folder: URL): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(files.map(async (file) => parsed(file, await readFile(new URL(file, folder), 'utf8'))))
}

function parsed(file: string, sql: string): Migration {
  const name = file.replace(/\.sql$/, '')
  const id = Number.parseInt(file, 10)
  const oldestBinary = /^-- oldest binary: (\d+)$/m.exec(headerOf(sql))?.[1]
  return {
    id,
    name,
    sql,
    oldestBinary: oldestBinary === undefined ? id : Number(oldestBinary),
    concurrentIndex: isOutsideTransaction(sql) ? concurrentIndexOf(name, sql) : undefined,
  }
}

/** The comment lines before the first statement. */
function headerOf(sql: string): string {
  return /^(?:--.*\n)*/.exec(sql)?.[0] ?? ''
}

function isOutsideTransaction(sql: string): boolean {
  return /^-- transaction: off$/m.test(headerOf(sql))
}

const CONCURRENT_INDEX =
  /^(?:create (?:unique )?index concurrently if not exists (\w+) on|drop index concurrently if exists ledger\.(\w+);?\s*$)[^;]*;?\s*$/i

/**
 * Outside a transaction, a crash can leave a statement half done and it runs again. So such a file
 * may hold only one statement, and only one that can be repeated.
 */
function concurrentIndexOf(name: string, sql: string): string {
  const statement = sql.replace(/--.*\n/g, '').trim()
  const found = CONCURRENT_INDEX.exec(statement)
  const index = found?.[1] ?? found?.[2]
  if (index !== undefined) return index
  throw new Error(
    `migration ${name} says \`-- transaction: off\`, so it must hold exactly one statement: ` +
      '`create index concurrently if not exists …` or `drop index concurrently if exists ledger.…`',
  )
}
