// @ts-check
import { setTimeout as delay } from 'node:timers/promises'
import { startContender } from '../servers/contender.mjs'
import { cpuMeter } from '../servers/cpu.mjs'
import { eventBody } from '../stripe/deliveries.mjs'

const HANDLED_WITHIN_MS = 300_000
const COMPLETED_WITHIN_MS = 15_000
const LOOK_EVERY_MS = 20
/** Backlogs are inserted in parts that fit a server with little memory. */
const FILL_AT_ONCE = 10_000

/** A placeholder for the number of the event in the body. Both backlogs hold the same events. */
const HOLE = 'N'.repeat(24)

/**
 * Jobs per second from an existing backlog, with handlers that do nothing, in one worker process.
 * @param {import('./round.mjs').Contender} contender
 * @param {Pick<import('./round.mjs').Bench, 'options' | 'postgres'>} bench
 * @param {{ from: number }} [numbers] of the events, where others are in the ledger already
 */
export async function drainRound(contender, { options, postgres }, { from: first } = { from: 1 }) {
  const backlog = backlogs[contender.name]
  if (!backlog) throw new Error(`drain knows ${Object.keys(backlogs).join(' and ')}, not ${contender.name}`)
  const server = await startContender(contender, { ...options, postgres, mode: 'drain' })
  try {
    const last = first + options.backlog - 1
    for (let from = first; from <= last; from += FILL_AT_ONCE) {
      const to = Math.min(last, from + FILL_AT_ONCE - 1)
      await backlog.fill(server, { from, to, body: eventBody(HOLE, options.bodyBytes) })
    }
    await server.db.query('vacuum analyze')
    await server.db.query('checkpoint')

    const cost = await cpuMeter({ server, postgres })
    const startedAt = performance.now()
    server.say('start')
    await server.told(HANDLED_WITHIN_MS)
    const handledAt = performance.now()
    while ((await server.db.query(backlog.OPEN)).rowCount !== 0) {
      if (performance.now() - handledAt > COMPLETED_WITHIN_MS) {
        throw new Error(`${contender.name}: jobs are not completed although their handlers ran`)
      }
      await delay(LOOK_EVERY_MS)
    }
    const elapsed = (performance.now() - startedAt) / 1000
    const unfinished = await contender.unfinished?.(server)
    if (unfinished !== 0) throw new Error(`${contender.name}: ${unfinished} jobs are not completed`)
    return {
      perSecond: options.backlog / elapsed,
      jobs: options.backlog,
      elapsed,
      cpu: await cost.each(options.backlog),
    }
  } finally {
    await server.stop()
  }
}

/**
 * @typedef {object} Backlog
 * @property {(server: any, piece: { from: number, to: number, body: string }) => Promise<unknown>} fill
 * @property {string} OPEN returns a row while a job is not completed
 */

/** @type {Record<string, Backlog>} */
const backlogs = {
  hookonce: {
    fill: ({ db, shards }, { from, to, body }) =>
      db.query(
        `with event as (
           select lpad(n::text, 24, '0') as number from generate_series($1::integer, $2::integer) n
         ), identified as (
           -- As in src/model/receipt-id.ts: SHA-256 over tenant, source and key, each behind its length.
           select 'evt_' || number as key, 'in_' || number as object, replace($3::text, '${HOLE}', number) as body,
             substring(sha256(
               int4send(7) || 'default'::bytea || int4send(6) || 'stripe'::bytea ||
               int4send(28) || convert_to('evt_' || number, 'UTF8')
             ) from 1 for 16) as id
           from event
         ), receipt as (
           insert into hookonce.receipt
             (shard, id, secret, tenant, source, event_key, event_type, object_id, body_sha256, headers, body)
           select get_byte(id, 0) % $4::integer, encode(id, 'hex')::uuid, 1, 'default', 'stripe', key, 'invoice.paid',
             object, sha256(convert_to(body, 'UTF8')), 'content-type: application/json', convert_to(body, 'UTF8')
           from identified
           returning shard, id
         )
         insert into hookonce.job (shard, receipt_id, subscriber, state)
         select r.shard, r.id, s.id, 'received'
         from receipt r cross join hookonce.subscriber s where s.source = 'stripe'`,
        [from, to, body, shards],
      ),
    // Each half has its own index, so the count is quick with any history.
    OPEN: `(select from hookonce.job where state in ('received', 'retrying') limit 1) union all
           (select from hookonce.job where state = 'processing' limit 1)`,
  },
  'graphile-worker': {
    fill: ({ db }, { from, to, body }) =>
      db.query(
        `select count(*) from graphile_worker.add_jobs(array(
           select json_populate_record(null::graphile_worker.job_spec, json_build_object(
             'identifier', 'webhook',
             'payload', replace($3::text, '${HOLE}', lpad(n::text, 24, '0'))::json,
             'job_key', 'evt_' || lpad(n::text, 24, '0')))
           from generate_series($1::integer, $2::integer) n))`,
        [from, to, body],
      ),
    OPEN: 'select from graphile_worker.jobs limit 1',
  },
}
