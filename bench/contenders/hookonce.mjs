// @ts-check
import pg from 'pg'
import { hookonce, stripe } from '../product.mjs'
import { secret } from '../stripe/deliveries.mjs'
import { rowOf, WRITE } from './business.mjs'
import { countingHandler, endOnTerm, listen, mode, required, startOnLine, tell } from './serve.mjs'

/*
 * accept: a process that only receives. end-to-end: it receives and works. drain: it only works.
 * How the business row is written end to end is BENCH_EFFECT:
 * - own:   by the handler's own pool, once by its primary key;
 * - tx:    in an interactive ctx.transaction, committed with the completion under the fence;
 * - write: by ctx.write, group-committed with the completions of others.
 */

/**
 * Slots for all jobs that are accepted and not yet committed, so that jobs are born leased. A
 * delivery is answered before its job is done, so there are more jobs than connections of the load
 * generator.
 */
const CONCURRENCY = 1024
/**
 * Handlers do nothing: the number of jobs that one statement claims and settles decides the rate.
 */
const DRAIN_CONCURRENCY = 256

/** @typedef {(event: any, ctx: any) => Promise<unknown>} Handler */

/** @type {Record<string, () => Handler>} */
const effects = {
  own() {
    const pool = new pg.Pool({ connectionString: required('DATABASE_URL'), max: 10 })
    return (event) => pool.query({ ...WRITE, values: rowOf(event.payload) })
  },
  tx: () => (event, ctx) => {
    requireContext(ctx, 'transaction')
    return ctx.transaction(
      async (/** @type {any} */ tx) => {
        await tx.query({ ...WRITE, values: rowOf(event.payload) })
      },
      { last: true },
    )
  },
  write: () => (event, ctx) => {
    requireContext(ctx, 'write')
    return ctx.write({ text: WRITE.text, values: rowOf(event.payload) })
  },
}

/**
 * @param {Record<string, unknown>} ctx
 * @param {string} method
 */
function requireContext(ctx, method) {
  if (typeof ctx[method] === 'function') return
  process.stderr.write(`this hookonce has no ctx.${method}: choose another --effect\n`)
  process.exit(1)
}

/** @returns {Handler} */
function handler() {
  if (mode === 'accept') return async () => undefined
  if (mode === 'drain') return countingHandler()
  const effect = effects[process.env.BENCH_EFFECT ?? 'own']
  if (!effect) throw new Error(`BENCH_EFFECT is one of: ${Object.keys(effects).join(', ')}`)
  return effect()
}

const hooks = hookonce({
  database: required('DATABASE_URL'),
  sources: { stripe: stripe({ secret }) },
  concurrency: Number(process.env.BENCH_CONCURRENCY ?? (mode === 'drain' ? DRAIN_CONCURRENCY : CONCURRENCY)),
}).on('stripe', 'invoice.paid', handler())

const ledger = await hooks.ledger()
if (mode === 'drain') {
  endOnTerm(() => hooks.stop())
  startOnLine(() => hooks.start())
  tell({ ready: true, shards: ledger.shards })
} else {
  if (mode === 'end-to-end') await hooks.start()
  listen(hooks.node({ source: 'stripe' }), () => hooks.stop())
}
