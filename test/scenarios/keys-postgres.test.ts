import { describe, test } from 'vitest'
import { keyStoreContract } from '../../src/keys/contract/index.ts'
import { postgresKeys } from '../../src/keys/index.ts'
import { freshDatabase } from '../support/database.ts'

describe('the contract of key stores, in PostgreSQL', () => {
  test('all cases', async () => {
    const { pool } = await freshDatabase()
    const store = postgresKeys({ database: pool })
    await Promise.all(keyStoreContract(['steps', 'sweep']).map(({ run }) => run(store)))
    await store.close()
  })
})
