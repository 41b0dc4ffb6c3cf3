import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { openLedger } from '../../src/ledger/ledger.ts'
import { parseMasterKeys } from '../../src/ledger/vault/master-keys.ts'
import type { TestDatabase } from './database.ts'

export const newKey = (): string => randomBytes(32).toString('base64')

export const REASON = { by: 'tester', why: 'a test' }

/** The ledger, opened for an operator with these keys. */
export async function operatorLedger(db: Pick<TestDatabase, 'url'>, keys: readonly string[] = []) {
  const ledger = await openLedger({
    database: db.url,
    dir: '',
    schema: 'hookonce',
    migrate: 'off',
    prepare: 'on',
    durability: 'unsafe',
    maxConnections: 2,
    masterKeys: parseMasterKeys(keys, 'test'),
  })
  onTestFinished(() => ledger.close())
  return ledger
}
