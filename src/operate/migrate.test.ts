import { expect, test } from 'vitest'
import { endingServer } from '../../test/support/ending-server.ts'
import { DEFAULT_SCHEMA } from '../model/schema-name.ts'
import { migrateDatabase } from './migrate.ts'

test('a server that shuts down during the login fails a migration, but does not end the process', async () => {
  const url = `postgres://a@127.0.0.1:${await endingServer()}/a`
  // Vitest reports an uncaught exception as an error of the run.
  await expect(migrateDatabase(url, DEFAULT_SCHEMA)).rejects.toThrow()
})
