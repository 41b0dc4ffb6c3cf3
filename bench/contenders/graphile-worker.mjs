// @ts-check
import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker'
import pg from 'pg'
import { rowOf, WRITE } from './business.mjs'
import { countingHandler, endOnTerm, listen, mode, receiver, required, startOnLine, tell } from './serve.mjs'

/*
 * graphile-worker with the configuration of its own performance page (worker.graphile.org/docs/performance).
 * - dedupe: jobKey with `unsafe_dedupe` keeps the first job of a key while it exists. A completed job is deleted and
 *   its key with it; the primary key of the business row covers what comes later.
 */

/** @type {GraphileConfig.Preset} */
const preset = {
  worker: {
    connectionString: required('DATABASE_URL'),
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    logger: new Logger(() => (level, message) => {
      if (level === 'error') process.stderr.write(`${message}\n`)
    }),
  },
}

await runMigrations({ preset })

if (mode === 'drain') {
  const webhook = countingHandler()
  /** @type {import('graphile-worker').Runner | undefined} */
  let runner
  endOnTerm(async () => runner?.stop())
  startOnLine(async () => {
    runner = await run({ preset, taskList: { webhook }, noHandleSignals: true })
  })
  tell({ ready: true })
} else {
  const pgPool = new pg.Pool({ connectionString: required('DATABASE_URL'), max: 16 })
  const tellError = (/** @type {Error} */ error) => process.stderr.write(`${error}\n`)
  pgPool.on('error', tellError).on('connect', (client) => client.on('error', tellError))
  const utils = await makeWorkerUtils({ pgPool, preset: { worker: { logger: preset.worker?.logger } } })
  const runner =
    mode === 'end-to-end'
      ? await run({ preset, taskList: { webhook: write }, noHandleSignals: true })
      : undefined

  listen(
    receiver(async (event) => {
      await utils.addJob('webhook', event, { jobKey: event.id, jobKeyMode: 'unsafe_dedupe' })
      // graphile-worker does not return whether the job already existed.
      return true
    }),
    async () => {
      await runner?.stop()
      await utils.release()
      await pgPool.end()
    },
  )
}

/** @type {import('graphile-worker').Task} */
async function write(payload, helpers) {
  await helpers.withPgClient((client) =>
    client.query({ ...WRITE, values: rowOf(/** @type {any} */ (payload)) }),
  )
}
