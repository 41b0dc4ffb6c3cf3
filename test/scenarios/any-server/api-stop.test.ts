import { expect, onTestFinished, test } from 'vitest'
import { adminApi, expectProblem } from '../../support/admin-api.ts'
import { until } from '../../support/until.ts'

test('while a gateway stops, requests to its API are answered 503 with Retry-After, never 500', async () => {
  const { db, get, gateway } = await adminApi()
  const holder = await db.pool.connect()
  onTestFinished(() => holder.release(true))
  await holder.query('begin')
  await holder.query('lock table hookonce.subscriber in access exclusive mode')
  // The request holds a connection for operators, so the gateway cannot end before it.
  const inProgress = get('/subscribers')
  await until('the request waits for the lock', () =>
    db.number(`select count(*) from pg_stat_activity where wait_event_type = 'Lock'
      and datname = current_database() and query like '%subscriber%'`),
  )
  gateway.child.kill('SIGTERM')
  const refused = await until('the connections are closed', async () => {
    const answer = await get('/replays')
    return answer.status === 200 ? undefined : answer
  })
  expectProblem(refused, 503, 'LEDGER_DOWN')
  expect(refused.headers.get('retry-after')).toBe('1')
  await holder.query('rollback')
  expect([200, 503]).toContain((await inProgress).status)
})
