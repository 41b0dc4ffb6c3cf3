// @ts-check
import { createHash } from 'node:crypto'
import { PgBoss } from 'pg-boss'
import { rowOf } from './business.mjs'
import { listen, mode, receiver, required } from './serve.mjs'

/*
 * pg-boss, by its docs (docs/api/jobs.md, docs/api/workers.md):
 * - dedupe: `id` is the job's primary key and a second send with it resolves to null. It holds as long as the job is
 *   kept (7 days after completion); singletonKey would hold only until then.
 * - `batchSize`, `localConcurrency` and `burstWhenBatchFull` keep workers fetching full batches without a pause.
 * - `transactional`: the rows of a batch commit with its completion.
 */

const QUEUE = 'webhook'
const WORK = /** @type {const} */ ({
  batchSize: 100,
  localConcurrency: 4,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  transactional: true,
})

const WRITE_BATCH = `insert into business (event_id, invoice_id, amount)
  select * from unnest($1::text[], $2::text[], $3::integer[]) on conflict (event_id) do nothing`

const boss = new PgBoss({
  connectionString: required('DATABASE_URL'),
  max: 16,
  schedule: false,
  supervise: mode === 'end-to-end',
})
boss.on('error', (error) => process.stderr.write(`${error}\n`))
await boss.start()
await boss.createQueue(QUEUE)

if (mode === 'end-to-end') {
  await boss.work(QUEUE, WORK, async (jobs, tx) => {
    const rows = jobs.map((job) => rowOf(/** @type {any} */ (job.data)))
    await tx.executeSql(
      WRITE_BATCH,
      [0, 1, 2].map((column) => rows.map((row) => row[column])),
    )
  })
}

listen(
  receiver(async (event) => (await boss.send(QUEUE, event, { id: uuidOf(event.id) })) !== null),
  () => boss.stop({ graceful: true, timeout: 5_000 }),
)

/** @param {string} eventId */
function uuidOf(eventId) {
  const hex = createHash('sha256').update(eventId).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
