// @ts-check
import { contendersNamed } from '../contenders.mjs'
import { checkAnswers } from '../modes/round.mjs'
import { startContender } from '../servers/contender.mjs'
import { keptDatabase } from './prefilled.mjs'

const RATE = 800
const CONNECTIONS = 64

/**
 * A transaction is held open, so that no dead row can be removed, while 800 events per second are
 * accepted and processed. Measures the rate at full load before and after.
 * @param {import('../limits.mjs').Limits} limits
 */
export async function horizon({ postgres, generator, seconds, minutes }) {
  const [hookonce] = contendersNamed(['hookonce'])
  if (!hookonce) throw new Error('hookonce is no contender')
  const kept = await keptDatabase(postgres)
  const server = await startContender(hookonce, {
    postgres: kept,
    mode: 'end-to-end',
    effect: 'write',
    cpuProf: false,
  })
  const holder = await kept.db.connect()
  let part = 0
  async function prepare() {
    const prefix = `${process.pid.toString(36)}h${part++}x`
    await generator.prepare({
      port: server.port,
      connections: CONNECTIONS,
      prefix,
      bodyBytes: 1600,
      duplicates: 0,
    })
  }
  async function peak() {
    await prepare()
    return Math.round(
      checkAnswers(await generator.closed({ seconds, count: 1_000_000, fresh: false })).perSecond,
    )
  }
  try {
    await peak()
    const before = await peak()
    await holder.query('begin isolation level repeatable read')
    await holder.query('select count(*) from hookonce.source')
    let p99 = 0
    // Runs minute by minute: deliveries are signed before they are sent, and must not exceed their
    // tolerance.
    for (let minute = 0; minute < minutes; minute += 1) {
      await prepare()
      const steady = checkAnswers(await generator.open({ seconds: 60, rate: RATE }))
      p99 = Math.max(p99, steady.latency.p99)
    }
    const after = await peak()
    const dead = await server.db.query(
      `select n_dead_tup as n from pg_stat_user_tables where schemaname = 'hookonce' and relname = 'job'`,
    )
    await holder.query('rollback')
    return [
      {
        'held minutes': minutes,
        'before/s': before,
        'after/s': after,
        ratio: (after / before).toFixed(2),
        'steady p99 ms': p99.toFixed(1),
        'dead job rows': Number(dead.rows[0]?.n ?? 0),
      },
    ]
  } finally {
    holder.release(true)
    await server.stop()
    await kept.drop()
  }
}
