import { expect, test } from 'vitest'
import { HookonceError } from '../../../src/index.ts'
import { parseMasterKeys } from '../../../src/ledger/vault/master-keys.ts'
import { sealPayload } from '../../../src/ledger/vault/seal.ts'
import { openVault } from '../../../src/ledger/vault/vault.ts'
import { freshDatabase } from '../../support/database.ts'
import { newKey } from '../../support/encryption.ts'

const RECEIPT = '00000000-0000-4000-8000-000000000001'

test('a process reads with a forgotten key for ten seconds at most', async () => {
  const db = await freshDatabase()
  let nowMs = 0
  const vault = openVault(db.pool, parseMasterKeys([newKey()], 'test'), () => nowMs)
  const { payload } = await vault.loadTenantKeys('a')
  const bytes = sealPayload({ headers: '', body: Buffer.from('x') }, RECEIPT, payload)
  const sealed = [{ receiptId: RECEIPT, dataKey: payload.id, bytes }]
  expect(await vault.open(sealed)).toMatchObject([{ headers: '' }])
  await db.rows(`update hookonce.data_key set wrapped = null, forgotten_at = now() where purpose = 'payload'`)
  nowMs = 9_999
  expect(await vault.open(sealed)).toMatchObject([{ headers: '' }])
  nowMs = 10_000
  const [gone] = await vault.open(sealed)
  expect(gone).toBeInstanceOf(HookonceError)
  expect(gone).toMatchObject({ code: 'PAYLOAD_FORGOTTEN' })
})

test('a tenant without its key stops neither the keys nor the payloads of others', async () => {
  const db = await freshDatabase()
  await openVault(db.pool, parseMasterKeys([newKey()], 'test')).loadTenantKeys('locked')
  const vault = openVault(db.pool, parseMasterKeys([newKey()], 'test'))
  await expect(vault.loadTenantKeys('locked')).rejects.toThrow('ENCRYPTION_KEY_MISSING')
  await expect(vault.requireKeys(['open', 'locked'])).rejects.toThrow('tenant "locked"')
  await vault.requireKeys(['open'])
  const { payload } = await vault.loadTenantKeys('open')
  const bytes = sealPayload({ headers: 'h', body: Buffer.from('x') }, RECEIPT, payload)
  const lockedKey = await db.number(
    `select id from hookonce.data_key where tenant = 'locked' and purpose = 'payload'`,
  )
  const opened = await vault.open([
    { receiptId: RECEIPT, dataKey: lockedKey, bytes },
    { receiptId: RECEIPT, dataKey: payload.id, bytes },
  ])
  expect(opened).toMatchObject([{ code: 'ENCRYPTION_KEY_MISSING' }, { headers: 'h' }])
})
