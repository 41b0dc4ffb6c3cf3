import { expect, test } from 'vitest'
import { recordAudit } from '../../../src/ledger/read/audit.ts'
import { listAudit } from '../../../src/operate/audit.ts'
import { freshDatabase } from '../../support/database.ts'

test('the audit is in the order of its decisions, over all pages', async () => {
  const { pool } = await freshDatabase()
  for (let n = 1; n <= 23; n += 1)
    await recordAudit(pool, {
      actor: 'ada',
      action: 'pause',
      why: `${n}`,
      tenant: 'default',
      subject: 's',
      detail: {},
    })
  const ledger = { pool, shards: 16 }
  const reasons: string[] = []
  let after: string | undefined
  do {
    const page = await listAudit(ledger, { limit: 5, ...(after === undefined ? {} : { after }) })
    reasons.push(...page.entries.map(({ why }) => why))
    after = page.entries.at(-1)?.id
  } while (after !== undefined)
  expect(reasons).toEqual(Array.from({ length: 23 }, (_, n) => String(23 - n)))
})
