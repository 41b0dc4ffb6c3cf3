import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { operatorError } from './operator-error.ts'

test('a closed pool is a ledger that cannot be reached, not an unexpected error', async () => {
  const pool = new pg.Pool()
  await pool.end()
  const error = await pool.query('select 1').catch((thrown: unknown) => thrown)
  expect(operatorError(error)).toMatchObject({ code: 'LEDGER_DOWN' })
})

test('a pool whose connections stay in use is overloaded; a silent server is down', async () => {
  const silent = createServer()
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const pool = new pg.Pool({ host: '127.0.0.1', port, max: 1, connectionTimeoutMillis: 50 })
  onTestFinished(async () => {
    await pool.end()
    silent.close()
  })
  const [first, second] = await Promise.allSettled([pool.query('select 1'), pool.query('select 1')])
  expect(operatorError(first.status === 'rejected' && first.reason)).toMatchObject({ code: 'LEDGER_DOWN' })
  expect(operatorError(second.status === 'rejected' && second.reason)).toMatchObject({ code: 'OVERLOADED' })
})

test('an unexpected error stays unchanged', () => {
  for (const error of [new Error('no'), new TypeError('Connection terminated')])
    expect(operatorError(error)).toBe(error)
})
