import pg from 'pg'
import { expect, test } from 'vitest'
import { operatorError } from './operator-error.ts'

test('a closed pool is a ledger that cannot be reached, not an unexpected error', async () => {
  const pool = new pg.Pool()
  await pool.end()
  const error = await pool.query('select 1').catch((thrown: unknown) => thrown)
  expect(operatorError(error)).toMatchObject({ code: 'LEDGER_DOWN' })
})

test('an unexpected error stays unchanged', () => {
  for (const error of [new Error('no'), new TypeError('Connection terminated')])
    expect(operatorError(error)).toBe(error)
})
