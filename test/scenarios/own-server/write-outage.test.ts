import { describe, expect, test } from 'vitest'
import { INSERT_EFFECT } from '../../support/effect-table.ts'
import { freePort } from '../../support/free-port.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { meeting } from '../../support/meeting-point.ts'
import { ownServer } from '../../support/own-server.ts'
import { TEMPLATE } from '../../support/servers.ts'

const HEALTHY = 20

const FAILURES: readonly (readonly [name: string, prepare: string, culprit: string])[] = [
  [
    'a foreign table whose server cannot be reached',
    `create extension postgres_fdw;
     create server gone foreign data wrapper postgres_fdw options (host '127.0.0.1', port 'PORT');
     create user mapping for current_user server gone;
     create foreign table remote (key text) server gone`,
    `insert into remote values ('a')`,
  ],
  [
    'more locks than the server holds',
    '',
    'select pg_advisory_xact_lock(n) from generate_series(1, 200000) n',
  ],
  [
    'more temporary files than it may make',
    `alter database ${TEMPLATE} set temp_file_limit = '1MB'; alter database ${TEMPLATE} set work_mem = '64kB'`,
    'select count(*) from (select md5(n::text) from generate_series(1, 200000) n order by 1) many',
  ],
]

// Uses its own server: a full lock table would affect other tests too.
describe('a write that exhausts the server fails alone, and is retried:', () => {
  test.each(FAILURES)('%s', async (_, prepare, culprit) => {
    const { db } = await ownServer()
    if (prepare) await db.rows(prepare.replace('PORT', String(await freePort())))
    const meet = meeting(HEALTHY + 1)
    const hooks = testHooks(db, {
      concurrency: HEALTHY + 1,
      retry: { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 1 },
    }).on('test', '*', async (event, ctx) => {
      await meet()
      if (event.type === 'healthy') ctx.write({ text: INSERT_EFFECT, values: [event.receiptId, event.type] })
      else ctx.write({ text: culprit })
    })
    await hooks.start()
    await deliver(hooks, { id: 'culprit', type: 'culprit' })
    await Promise.all(
      Array.from({ length: HEALTHY }, (_, n) => deliver(hooks, { id: `evt_${n}`, type: 'healthy' })),
    )
    await jobsAre(db, 'processed', HEALTHY)
    await jobsAre(db, 'failed')
    expect(await db.number('select count(*) from effect')).toBe(HEALTHY)
    expect(await db.rows(`select attempt from hookonce.job where state = 'failed'`)).toEqual([{ attempt: 2 }])
    expect(await db.number(`select max(attempt) from hookonce.job where state = 'processed'`)).toBe(1)
    await hooks.stop()
  })
})
