import pg from 'pg'
import { recordOutcome } from '../../src/effects/end-effect.ts'
import type { EffectOptions } from '../../src/index.ts'
import { claimJobs } from '../../src/ledger/jobs/claim.ts'
import type { JobRef } from '../../src/ledger/jobs/job-ref.ts'
import { settleJobs } from '../../src/ledger/jobs/settle.ts'
import { HookonceError } from '../../src/model/errors.ts'
import { NotDone } from '../../src/model/handler-errors.ts'
import { scopedId, shardOf } from '../../src/model/receipt-id.ts'
import { BURIED_AT } from '../../src/model/suspects.ts'
import { observers } from '../../src/observe/observer.ts'
import { type AttentionVerb, attentionVerbs, decideAttention } from '../../src/operate/attention.ts'
import { replayOne } from '../../src/operate/replay.ts'
import { settleWaiting } from '../../src/operate/subscribers.ts'
import { attempt } from '../../src/process/attempt.ts'
import { claimedRun } from '../../src/process/run.ts'
import { stopAtOpenCall } from '../../src/process/settle/open-calls.ts'
import { settler } from '../../src/process/settle/settler.ts'
import type { Handler } from '../../src/process/subscriber.ts'
import { rescueOrphans } from '../../src/upkeep/rescue.ts'
import { Drain } from '../../src/work/interruption.ts'
import type { TestDatabase } from './database.ts'
import { seedJobs, seedWorker, settlement } from './seed.ts'
import { testSource } from './source.ts'

/*
 * Two jobs that request one effect, and all possible actions on them: runs with every ending, calls
 * that are answered late or never, workers that die, and actions of an operator. An operator may move
 * a job to another subscriber, which then has the job of the event. Each action is the real code on a
 * real database. States are kept as rows, so that every action can be taken from
 * every state.
 */

const KEY = 'charge'
/** The subscriber of both jobs, and the one to which they may be moved. */
const NAMES = ['app', 'next'] as const
/** As many shards as jobs: work over all shards is then quick. */
const SHARDS = 2
const WORKER_LIVES = 3_600_000

export interface JobRow {
  readonly receipt_id: string
  readonly shard: number
  readonly subscriber: number
  readonly fence: number
  readonly state: string
}

export interface EffectModelRow {
  readonly epoch: number
  readonly state: string
  readonly receipt_id: string
  readonly subscriber: number
  readonly fence: number
  readonly reopened_at: string | null
}

interface Call {
  readonly job: JobRef
  readonly epoch: number
}

/** The whole state, which can be restored at any time. */
export interface ModelState {
  /** All rows. A job that was moved has two. */
  readonly rows: readonly JobRow[]
  /** The last row of each of the two jobs. */
  readonly jobs: readonly JobRow[]
  /** The records of the effect, in the order of epochs. */
  readonly effects: readonly EffectModelRow[]
  readonly attention: readonly { readonly receipt_id: string }[]
  /** A call that was made and is not answered yet. */
  readonly call: Call | undefined
}

export interface Action {
  readonly name: string
  /** An action of an operator. */
  readonly isVerb?: boolean
  /** The job that the action is about. */
  readonly job?: number
  isPossible(state: ModelState): boolean
  /** Returns the call that is in progress afterwards. */
  take(state: ModelState): Promise<Call | undefined>
}

export interface Model {
  readonly ledger: { readonly pool: TestDatabase['pool']; readonly shards: number }
  readonly actions: readonly Action[]
  read(call: Call | undefined): Promise<ModelState>
  restore(state: ModelState): Promise<void>
}

/** The shards of two jobs, one each, so that a claim names one job. */
async function inTwoShards(db: TestDatabase): Promise<number[]> {
  await db.rows(`update hookonce.setting set value = ${SHARDS} where name = 'shards'`)
  for (;;) {
    await db.rows('delete from hookonce.job; delete from hookonce.receipt')
    await seedJobs(db, 2)
    await db.rows(`update hookonce.receipt set shard = get_byte(uuid_send(id), 0) % ${SHARDS}`)
    await db.rows(`update hookonce.job set shard = get_byte(uuid_send(receipt_id), 0) % ${SHARDS}`)
    const jobs = await db.rows<{ shard: number }>('select distinct shard from hookonce.job order by shard')
    if (jobs.length === 2) return jobs.map(({ shard }) => shard)
  }
}

export function latestEffect({ effects }: ModelState): EffectModelRow | undefined {
  return effects.at(-1)
}

export interface ModelOptions {
  /** The options with which both jobs request the effect. */
  readonly effect: EffectOptions
  /** Whether runs may be cut off during a call, and answered late. */
  readonly isCutOff: boolean
  /** Whether an operator may move and discard waiting jobs. */
  readonly areRemoved?: boolean
}

export async function effectModel(
  db: TestDatabase,
  { effect: options, isCutOff, areRemoved = false }: ModelOptions,
): Promise<Model> {
  const { pool } = db
  const ledger = { pool, shards: SHARDS }
  const shards = await inTwoShards(db)
  for (const name of NAMES) await seedJobs(db, 0, { subscriber: name })
  const served = await db.rows<{ id: number }>('select id from hookonce.subscriber order by id')
  const worker = await seedWorker(db, WORKER_LIVES)
  const source = testSource()
  const observer = observers([])
  const never = new AbortController().signal
  const settling = settler({ pool, writes: pool, observer, signal: never })
  const outbox = { requirePublisher: () => undefined, committed: () => undefined }
  const effectId = scopedId('default', KEY)
  const effect = { shard: shardOf(effectId, SHARDS), id: effectId, tenant: 'default', key: KEY }

  async function read(call: Call | undefined): Promise<ModelState> {
    const [row] = await db.rows<Omit<ModelState, 'call' | 'jobs'>>(
      `select (select jsonb_agg(to_jsonb(j) order by shard, subscriber) from hookonce.job j) as rows,
         coalesce((select jsonb_agg(to_jsonb(e) order by epoch) from hookonce.effect e), '[]') as effects,
         coalesce((select jsonb_agg(to_jsonb(a)) from hookonce.attention a), '[]') as attention`,
    )
    if (!row) throw new Error('the model has no rows')
    const { rows, effects, attention } = row
    const jobs = shards.flatMap((shard) => rows.filter((job) => job.shard === shard).slice(-1))
    // Of closed epochs, only the answer to the last call can still count.
    const isOpen = call !== undefined && effects.at(-1)?.epoch === call.epoch
    return { rows, jobs, effects, attention, call: isOpen ? call : undefined }
  }

  /** In one round trip, because there are thousands of states. */
  async function restore({ rows: jobs, effects, attention }: ModelState): Promise<void> {
    const set = (table: string, rows: unknown) =>
      `jsonb_populate_recordset(null::hookonce.${table}, ${pg.escapeLiteral(JSON.stringify(rows))})`
    await pool.query(
      `delete from hookonce.attempt; delete from hookonce.attention; delete from hookonce.effect;
       delete from hookonce.job j
       where (j.receipt_id, j.subscriber) not in (select receipt_id, subscriber from ${set('job', jobs)});
       insert into hookonce.job select * from ${set('job', jobs)} on conflict do nothing;
       update hookonce.job j
       set state = r.state, fence = r.fence, attempt = r.attempt, crashes = r.crashes, worker = r.worker, epoch = r.epoch,
         finished_at = r.finished_at, started_at = r.started_at, reason = r.reason, last_step = r.last_step,
         due_at = now() - interval '1 minute'
       from ${set('job', jobs)} r
       where j.shard = r.shard and j.receipt_id = r.receipt_id and j.subscriber = r.subscriber;
       insert into hookonce.effect select * from ${set('effect', effects)};
       insert into hookonce.attention select * from ${set('attention', attention)}`,
    )
  }

  async function claim(index: number) {
    const slots = new Map(served.map(({ id }) => [id, 1]))
    const [job] = await claimJobs(pool, { shard: shards[index] ?? 0, worker, slots })
    if (!job) throw new Error(`job ${index} could not be claimed`)
    return job
  }

  function nameOf({ subscriber }: { readonly subscriber: number }): string {
    const name = NAMES[served.findIndex(({ id }) => id === subscriber)]
    if (!name) throw new Error(`no subscriber ${subscriber}`)
    return name
  }

  function runOf(job: Awaited<ReturnType<typeof claim>>, handler: Handler, maxAttempts: number) {
    const retry = { maxAttempts, maxAgeMs: 1e12, baseDelayMs: 1, maxDelayMs: 1 }
    const one = { id: job.subscriber, tenant: 'default', sourceName: 'test', name: nameOf(job) }
    const limits = { slotGroup: { concurrency: 1 }, limiter: undefined }
    const terms = { ...one, ...limits, source, handler, timeoutMs: 60_000, retry }
    const business = { ...ledger, outbox, observer: {} }
    return claimedRun(job, { subscriber: terms, business, isHeld: () => true })
  }

  /** A complete run. A failed run is retried, or the job fails. */
  async function runToEnd(index: number, handler: Handler, isGivenUp: boolean): Promise<void> {
    const run = runOf(await claim(index), handler, isGivenUp ? 1 : 1e4)
    const settle = settling.add
    await attempt(run, { settle, observer, signal: never })
  }

  /**
   * A run that calls, and whose process then reports nothing until another action decides its fate.
   */
  async function begin(index: number): Promise<Call | undefined> {
    let wasCalled = false
    const ask: Handler = async (_, ctx) => {
      await ctx.effect(
        KEY,
        () => {
          wasCalled = true
          run.interruption.interrupt(new Drain('the model goes on without it'))
          return new Promise(() => undefined)
        },
        options,
      )
    }
    const claimed = await claim(index)
    const run = runOf(claimed, ask, 1e4)
    await attempt(run, {
      settle: async (ending) => (wasCalled ? { kind: 'lost' } : settling.add(ending)),
      observer,
      signal: never,
    })
    const [row] = await db.rows<{ epoch: number }>('select max(epoch) as epoch from hookonce.effect')
    return wasCalled && row ? { job: run.job, epoch: row.epoch } : undefined
  }

  const can =
    (index: number, ...states: string[]) =>
    ({ jobs }: ModelState): boolean =>
      states.includes(jobs[index]?.state ?? '')

  const ask =
    (work: () => unknown): Handler =>
    async (_, ctx) => {
      await ctx.effect(KEY, work, options)
    }

  const lose = ask(() => Promise.reject(new Error('the reply was lost')))
  const HANDLERS: Record<string, { readonly handler: Handler; readonly isGivenUp: boolean }> = {
    'is answered': { handler: ask(() => 'ok'), isGivenUp: false },
    'loses its reply': { handler: lose, isGivenUp: false },
    'loses its reply and is given up': { handler: lose, isGivenUp: true },
    'is refused': { handler: ask(() => Promise.reject(new NotDone('declined'))), isGivenUp: false },
    'is given up before it calls': {
      handler: () => Promise.reject(new Error('before it')),
      isGivenUp: true,
    },
  }

  function runs(index: number): Action[] {
    return Object.entries(HANDLERS).map(([name, { handler, isGivenUp }]) => ({
      name: `run ${index} ${name}`,
      isPossible: can(index, 'received', 'retrying'),
      async take({ call }) {
        await runToEnd(index, handler, isGivenUp)
        return call
      },
    }))
  }

  function isCalling(index: number, isLive: boolean) {
    return ({ jobs, call }: ModelState): boolean => {
      const job = jobs[index]
      if (!job || call?.job.receiptId !== job.receipt_id) return false
      return (job.state === 'processing' && job.fence === call.job.fence) === isLive
    }
  }

  /** The possible ends of a run in progress. */
  function ends(index: number): Action[] {
    const isLive = isCalling(index, true)
    return [
      {
        name: `run ${index} calls`,
        isPossible: (state) => can(index, 'received', 'retrying')(state) && state.call === undefined,
        take: () => begin(index),
      },
      ...[false, true].map((isGivenUp) => ({
        name: `run ${index} times out${isGivenUp ? ', given up' : ''}`,
        isPossible: isLive,
        async take({ call }: ModelState) {
          if (!call) return undefined
          const asked = isGivenUp && (await stopAtOpenCall(ledger, call.job))
          if (!asked) await settleJobs(pool, [settlement(call.job, isGivenUp ? 'failed' : 'retrying')])
          return call
        },
      })),
      {
        name: `worker of run ${index} dies once too often`,
        isPossible: isLive,
        async take({ call }: ModelState) {
          const shard = shards[index] ?? 0
          await pool.query('update hookonce.job set crashes = $1 where worker = $2', [BURIED_AT - 1, worker])
          await rescueOrphans(ledger, { shard, deadWorkers: [worker], limit: 1, isCrash: true })
          return call
        },
      },
      ...(['done', 'failed'] as const).map((state) => ({
        name: `call of run ${index} is told: ${state}`,
        isPossible: (now: ModelState) => isLive(now) || isCalling(index, false)(now),
        async take({ call }: ModelState) {
          if (!call) return undefined
          const ended = { effect, ...call, state, result: null, reason: state === 'done' ? null : 'declined' }
          await recordOutcome(pool, ended).catch((error) => {
            if (!(error instanceof HookonceError)) throw error
          })
          await settleJobs(pool, [settlement(call.job, state === 'done' ? 'processed' : 'retrying')])
          return undefined
        },
      })),
    ]
  }

  const by = { by: 'ann', why: 'as the model wants it' }

  function replays(index: number): Action[] {
    return [undefined, by].map((fresh) => ({
      name: `replay ${index}${fresh ? ' afresh' : ''}`,
      isVerb: true,
      isPossible: can(index, 'processed', 'failed'),
      async take({ jobs, call }) {
        const job = jobs[index]
        if (job) await replayOne(ledger, job.receipt_id, { fresh, subscriber: nameOf(job) })
        return call
      },
    }))
  }

  function decisions(): Action[] {
    return attentionVerbs.map((verb: AttentionVerb) => ({
      name: verb,
      isVerb: true,
      isPossible: ({ effects, attention }) => attention.length > 0 || effects.at(-1)?.state === 'unknown',
      async take({ call }) {
        await decideAttention(ledger, { key: KEY, verb, ...by }).catch((error) => {
          if (!(error instanceof HookonceError && error.code === 'EFFECT_NOT_UNKNOWN')) throw error
        })
        return call
      },
    }))
  }

  /** All waiting jobs of a subscriber are moved, or discarded. */
  function removals(): Action[] {
    const [from, to] = NAMES
    const requests = [
      { subscriber: from, to, begun: true },
      { subscriber: from, to: undefined },
      { subscriber: to, to: undefined },
    ]
    return requests.map((request) => ({
      name: `jobs of ${request.subscriber} are ${request.to === undefined ? 'discarded' : 'moved'}`,
      isPossible: ({ jobs }) =>
        jobs.some((job) => nameOf(job) === request.subscriber && /^(received|retrying)$/.test(job.state)),
      async take({ call }) {
        await settleWaiting(ledger, { tenant: 'default', source: 'test', ...request }, by)
        return call
      },
    }))
  }

  const ofJob = (index: number): Action[] =>
    [...runs(index), ...(isCutOff ? ends(index) : []), ...replays(index)].map((action) =>
      Object.assign(action, { job: index }),
    )
  const actions = [...ofJob(0), ...ofJob(1), ...decisions(), ...(areRemoved ? removals() : [])]
  return { ledger, actions, read, restore }
}
