import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { migrate } from '../../src/ledger/migrations/migrate.ts'
import { freshDatabase, type TestDatabase } from './database.ts'

const FOLDER = fileURLToPath(new URL('../../src/ledger/migrations/', import.meta.url))

/** The names of all migrations, in order. The schema of version N holds the first N. */
export const MIGRATION_FILES = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.sql'))
  .sort()
export const NEWEST = MIGRATION_FILES.length

/** A folder with the first migrations, and additional ones. Removed at the end of the test. */
export function migrationsUpTo(version: number, others: Readonly<Record<string, string>> = {}): URL {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-migrations-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const file of MIGRATION_FILES.slice(0, version)) cpSync(join(FOLDER, file), join(folder, file))
  for (const [file, sql] of Object.entries(others)) writeFileSync(join(folder, file), sql)
  return pathToFileURL(`${folder}/`)
}

/** A ledger that was created by a hookonce that knows only the first migrations. */
export async function ledgerOfVersion(version: number): Promise<TestDatabase> {
  const db = await freshDatabase()
  await db.rows('drop schema hookonce cascade')
  await migrate(db.pool, { folder: migrationsUpTo(version) })
  return db
}
