// @ts-check
import { Queue, Worker } from 'bullmq'
import pg from 'pg'
import { rowOf, WRITE } from './business.mjs'
import { listen, mode, receiver, required } from './serve.mjs'

/*
 * BullMQ on Redis, after its docs (docs.bullmq.io). `jobId` dedupes while the job exists, so
 * completed jobs are kept. The concurrency is the one in its docs for work that waits for a
 * database. The business row goes to PostgreSQL, once by its primary key. The option of the Redis
 * server decides how often its append-only file is synced.
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
    // BullMQ does not return whether the job already existed.
    return true
  }),
  async () => {
    await worker?.close()
    await queue.close()
    await pool.end()
  },
)
