import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { startApp } from '../support/app.ts'
import { proxyTo } from '../support/proxy.ts'
import { sendOn } from '../support/sender.ts'
import { databaseUrl, makeCluster, makeTemplate, TEMPLATE } from '../support/servers.ts'
import { until } from '../support/until.ts'

/*
 * Shows that the process goes on with the new primary and that what was acknowledged is there. Not that the standby
 * being synchronous is what saves it: on loopback one that is not keeps up as well, and passes.
 */
test('the primary dies and its synchronous standby takes over: nothing that was acknowledged is lost', async () => {
  const primary = await makeCluster()
  primary.start()
  await makeTemplate(primary.url)
  const standby = await makeCluster(primary.url)
  standby.start()
  onTestFinished(() => {
    standby.stop()
    standby.remove()
    primary.remove()
  })
  await makeSynchronous(primary.url)

  const proxy = await proxyTo(databaseUrl(primary.url, TEMPLATE))
  const app = await startApp(
    { url: proxy.url },
    { options: { leaseMs: 6_000, pollMs: 50, retry: { baseDelayMs: 50, maxDelayMs: 200 } } },
  )
  const sender = sendOn(app.send)
  await until('events are accepted', () => sender.acknowledged.size > 50)
  primary.stop()
  await until('the sender is told to come back', () => sender.statuses.includes(503))
  const before = sender.acknowledged.size
  standby.promote()
  proxy.retarget(standby.url)
  await until('events are accepted by the new primary', () => sender.acknowledged.size > before + 50)
  await sender.stop()

  const pool = new pg.Pool({ connectionString: databaseUrl(standby.url, TEMPLATE), max: 1 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  await pool.query(
    `update hookonce.job set started_at = started_at - interval '1 minute' where state = 'processing'`,
  )
  await until('all work is done', async () => {
    const { rows } = await pool.query(
      `select count(*)::int as open from hookonce.job where state <> 'processed'`,
    )
    return rows[0]?.open === 0
  })
  const { rows } = await pool.query<{ event_key: string }>('select event_key from hookonce.receipt')
  const keys = new Set(rows.map((row) => row.event_key))
  expect(keys.size).toBe(rows.length)
  expect([...sender.acknowledged].filter((key) => !keys.has(key))).toEqual([])
})

/** A commit is then one on both. */
async function makeSynchronous(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`alter system set synchronous_standby_names = '*'`)
  await client.query('select pg_reload_conf()')
  await until('the standby is synchronous', async () => {
    const { rows } = await client.query('select sync_state from pg_stat_replication')
    return rows[0]?.sync_state === 'sync'
  })
  await client.end()
}
