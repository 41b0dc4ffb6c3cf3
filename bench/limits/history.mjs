// @ts-check
import { contendersNamed } from '../contenders.mjs'
import { median } from '../load/percentiles.mjs'
import { drainRound } from '../modes/drain.mjs'
import { checkAnswers, round } from '../modes/round.mjs'
import { fillHistory, keptDatabase } from './prefilled.mjs'

const CONNECTIONS = 64

/**
 * Rates of accept and drain on an empty ledger and on a ledger with a long history, alternating.
 * @param {import('../limits.mjs').Limits} limits
 */
export async function history({ postgres, generator, receipts, rounds, seconds, backlog }) {
  const [hookonce] = contendersNamed(['hookonce'])
  if (!hookonce) throw new Error('hookonce is no contender')
  const full = await keptDatabase(postgres)
  await fillHistory(full.db, receipts)
  const options = {
    mode: /** @type {const} */ ('accept'),
    contenders: [],
    seconds,
    warmupSeconds: 1,
    rounds,
    connections: CONNECTIONS,
    bodyBytes: 1600,
    duplicates: 0,
    count: 2_000_000,
    backlog,
    effect: 'own',
    cpuProf: false,
    postgres: undefined,
  }
  /** @type {Record<string, Record<string, number[]>>} */
  const rates = { accept: { empty: [], full: [] }, drain: { empty: [], full: [] } }
  for (let n = 0; n < rounds; n += 1) {
    for (const [name, server] of /** @type {const} */ ([
      ['empty', postgres],
      ['full', full],
    ])) {
      const bench = { options, postgres: server, generator }
      const accepted = await round(hookonce, bench, {
        worker: false,
        connections: CONNECTIONS,
        async measure({ generator: load }) {
          const result = checkAnswers(await load.closed({ seconds, count: options.count, fresh: false }))
          return { perSecond: result.perSecond, deliveries: result.sent }
        },
      })
      rates.accept?.[name]?.push(accepted.perSecond)
      // Removes the events that were accepted without a worker: they would be drained too.
      if (name === 'full') {
        await full.db.query("update hookonce.job set state = 'processed' where state = 'received'")
        await full.db.query('vacuum analyze hookonce.job')
      }
      const drained = await drainRound(hookonce, bench, { from: 1 + n * backlog })
      rates.drain?.[name]?.push(drained.perSecond)
    }
  }
  await full.drop()
  return Object.entries(rates).map(([what, { empty = [], full: filled = [] }]) => ({
    what: `${what}/s`,
    empty: Math.round(median(empty)),
    [`with ${receipts.toLocaleString('en-US')} receipts`]: Math.round(median(filled)),
    ratio: (median(filled) / median(empty)).toFixed(2),
    rounds: `${empty.map(Math.round).join(' ')} | ${filled.map(Math.round).join(' ')}`,
  }))
}
