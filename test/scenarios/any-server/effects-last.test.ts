import { expect, test } from 'vitest'
import type { Transaction } from '../../../src/index.ts'
import { INSERT_EFFECT } from '../../support/effect-table.ts'
import { kit, unstarted } from '../../support/kit.ts'

/*
 * A last transaction completes its job only with all of its work, even if it is a single returned
 * query.
 */

/** Values that cannot be committed, and their errors. */
const FAILING: Record<string, { work: (tx: Transaction, id: string) => Promise<unknown>; told: RegExp }> = {
  'a query that the server refuses': {
    work: (tx) => tx.query(INSERT_EFFECT, ['not a uuid', 'a']),
    told: /uuid/,
  },
  'a query whose value cannot be written down': {
    work: (tx, id) => tx.query(INSERT_EFFECT, [id, { amount: 1n }]),
    told: /BigInt/,
  },
  'a query that would end the transaction': {
    work: (tx) => tx.query('commit'),
    told: /TRANSACTION_MISUSED/,
  },
  'a name that was another statement before': {
    work: async (tx, id) => {
      await tx.query({ name: 'row', text: INSERT_EFFECT, values: [id, 'a'] })
      return tx.query({ name: 'row', text: 'delete from effect' })
    },
    told: /row/,
  },
}

test.each(Object.entries(FAILING))('%s completes nothing and leaves nothing', async (_, { work, told }) => {
  const hooks = unstarted({ retry: { maxAttempts: 1 } }).on('test', '*', (event, ctx) =>
    ctx.transaction((tx) => work(tx, event.receiptId), { last: true }),
  )
  const t = await kit(hooks)
  await t.deliver('test', 'a')
  await t.settled()
  expect(await t.rows('hookonce.job')).toMatchObject([
    { state: 'failed', reason: expect.stringMatching(told), last_step: null },
  ])
  expect(await t.rows('effect')).toEqual([])
})
