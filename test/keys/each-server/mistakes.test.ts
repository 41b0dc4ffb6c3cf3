import { afterAll, beforeAll } from 'vitest'
import { postgresKeys } from '../../../src/keys/index.ts'
import { makeDatabase } from '../../support/database.ts'
import { describeMistakes } from '../../support/key-mistakes.ts'

let db: Awaited<ReturnType<typeof makeDatabase>>
beforeAll(async () => {
  db = await makeDatabase()
})
afterAll(() => db.remove())

describeMistakes([{ name: 'PostgreSQL', open: () => postgresKeys({ database: db.url }) }])
