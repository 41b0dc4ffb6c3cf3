import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { quietPool } from '../../src/sql/quiet-pool.ts'
import { leaveDatabase, takePristine } from './idle-databases.ts'
import { forgetBeside, rememberBeside } from './many-ledgers.ts'
import { databaseUrl } from './servers.ts'

export interface TestDatabase {
  readonly url: string
  readonly pool: pg.Pool
  /** Rows of a query, for assertions on durable state. */
  rows<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>
  /** The single number that a query returns. */
  number(text: string, values?: unknown[]): Promise<number>
}

/**
 * The test's own database, migrated and empty, with the tables `run` and `effect` for handlers.
 * Removed at the end of the test.
 */
export async function freshDatabase(): Promise<TestDatabase> {
  const { remove, ...database } = await makeDatabase()
  onTestFinished(remove)
  return database
}

/** Like `testDatabase`, for the tests of one file: the caller removes it. */
export async function makeDatabase(): Promise<TestDatabase & { remove(): Promise<void> }> {
  const [{ url, leave }, ...others] = await Promise.all([
    takeDatabase(inject('serverUrl')),
    ...inject('otherServerUrls').map(takeDatabase),
  ])
  rememberBeside(
    url,
    others.map((other) => other.url),
  )
  const pool = quietPool(new pg.Pool({ connectionString: url, max: 4 }))
  return {
    url,
    pool,
    async remove() {
      await pool.end()
      forgetBeside(url)
      await Promise.all([leave(), ...others.map((other) => other.leave())])
    },
    async rows<Row>(text: string, values: unknown[] = []) {
      return (await pool.query(text, values)).rows as Row[]
    },
    async number(text, values = []) {
      const [row] = (await pool.query(text, values)).rows
      return Number(Object.values(row ?? {})[0])
    },
  }
}

async function takeDatabase(serverUrl: string): Promise<{ url: string; leave(): Promise<void> }> {
  const admin = new pg.Pool({ connectionString: serverUrl, max: 1 })
  const pristine = await takePristine(admin, serverUrl)
  return {
    url: databaseUrl(serverUrl, pristine.name),
    async leave() {
      await leaveDatabase(admin, serverUrl, pristine)
      await admin.end()
    },
  }
}
