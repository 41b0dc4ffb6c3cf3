// @ts-check
import { Queue, Worker } from 'bullmq'
import pg from 'pg'
import { rowOf, WRITE } from './business.mjs'
import { listen, mode, receiver, required } from './serve.mjs'

/*
 * BullMQ on Redis, by its docs (docs.bullmq.io): `jobId` dedupes as long as the job exists, so completed jobs are kept;
 * concurrency as in its docs for work that waits for a database; the row goes to PostgreSQL, once by its key.
 * How often Redis syncs its append-only file is set where the server is started.
 */

const QUEUE = 'webhook'
const connection = { host: '127.0.0.1', port: Number(required('REDIS_PORT')) }
const queue = new Queue(QUEUE, {
  connection,
  defaultJobOptions: { attempts: 5, removeOnComplete: false, removeOnFail: false },
})
await queue.waitUntilReady()

const pool = new pg.Pool({ connectionString: required('DATABASE_URL'), max: 16 })
const worker =
  mode === 'end-to-end'
    ? new Worker(
        QUEUE,
        async (job) => {
          await pool.query({ ...WRITE, values: rowOf(job.data) })
        },
        { connection: { ...connection, maxRetriesPerRequest: null }, concurrency: 50 },
      )
    : undefined
worker?.on('error', (error) => process.stderr.write(`${error}\n`))

listen(
  receiver(async (event) => {
    await queue.add('webhook', event, { jobId: event.id })
    // It does not tell whether the job was there already.
    return true
  }),
  async () => {
    await worker?.close()
    await queue.close()
    await pool.end()
  },
)
