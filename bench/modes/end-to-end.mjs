// @ts-check
import { setTimeout as delay } from 'node:timers/promises'
import { checkAnswers, checkCount, round } from './round.mjs'

/** The run stops waiting for a contender that is this far behind its acknowledgements. */
const ROWS_WITHIN_MS = 120_000
/** A job may complete a little after its row is written. */
const SETTLED_WITHIN_MS = 15_000
/**
 * Counting takes time of the server under test, so it is rare. The times of the rows themselves
 * show the end.
 */
const LOOK_EVERY_MS = 200

/**
 * Unique events per second, from the first delivery to the last business row, closed loop, with the
 * worker in the same process.
 * @param {import('./round.mjs').Contender} contender
 * @param {import('./round.mjs').Bench} bench
 */
export function endToEndRound(contender, bench) {
  const { seconds, count, connections } = bench.options
  return round(contender, bench, {
    worker: true,
    connections,
    async measure({ server, generator, warmed }) {
      const before = warmed?.unique ?? 0
      await rowsWritten(server.db, before)

      const startedAtMs = Date.now()
      const load = checkAnswers(await generator.closed({ seconds, count, fresh: false }))
      await rowsWritten(server.db, load.unique)
      await settled(contender, server)

      const rows = await server.db.query('select count(*) as n, max(written_at) as last from business')
      checkCount(contender, 'business rows', { found: Number(rows.rows[0].n), expected: load.unique })
      const elapsed = (rows.rows[0].last.getTime() - startedAtMs) / 1000
      return {
        perSecond: (load.unique - before) / elapsed,
        acceptedPerSecond: load.perSecond,
        deliveries: load.sent,
        unique: load.unique,
        latency: load.latency,
      }
    },
  })
}

/**
 * @param {import('pg').Pool} db
 * @param {number} expected
 */
async function rowsWritten(db, expected) {
  const deadline = performance.now() + ROWS_WITHIN_MS
  for (;;) {
    const result = await db.query('select count(*) as n from business')
    if (Number(result.rows[0].n) >= expected) return
    if (performance.now() > deadline) {
      throw new Error(
        `${result.rows[0].n} business rows for ${expected} events after ${ROWS_WITHIN_MS / 1000} s`,
      )
    }
    await delay(LOOK_EVERY_MS)
  }
}

/**
 * @param {import('./round.mjs').Contender} contender
 * @param {import('../contenders.mjs').Stores} stores
 */
async function settled(contender, stores) {
  const deadline = performance.now() + SETTLED_WITHIN_MS
  for (;;) {
    const unfinished = (await contender.unfinished?.(stores)) ?? 0
    if (unfinished === 0) return
    if (performance.now() > deadline)
      throw new Error(`${contender.name}: ${unfinished} jobs are not completed`)
    await delay(LOOK_EVERY_MS)
  }
}
