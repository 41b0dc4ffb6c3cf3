import * as binary from '../driver/binary.ts'
import { change, type Queryable, rows, type Statement, statement } from '../driver/statement.ts'
import { type ClaimedJob, claimOf, NO_SUSPECT } from './claim.ts'
import { CLAIMABLE } from './states.ts'

/*
 * The circuit of a limiter. While it is not closed, its subscribers are held: claims pass them by,
 * and their jobs are not born leased. One job at a time runs as a probe.
 *
 *   closed     to open       too many runs failed (open_circuit)
 *   open       to half-open  a worker claims a job as a probe, from probe_at on (claim_probe)
 *   half-open  to open       the probe failed (fail_probe)
 *   half-open  to closed     enough probes in a row succeeded (pass_probe)
 *
 * If the prober dies, or its probe takes too long, another worker claims a probe. Each change
 * raises the generation and names the one before: of two processes that want to change it, one
 * does.
 */

export type CircuitState = 'closed' | 'open' | 'half-open'

export interface CircuitChange {
  readonly state: CircuitState
  readonly generation: number
  /** Since it opened. */
  readonly failedProbes: number
}

const OPEN = statement(
  'open_circuit',
  `with opened as (
     update ledger.limiter
     set state = 'open', since = now(), reason = $3, generation = generation + 1, failed_probes = 0, passed_probes = 0,
       probe_at = now() + $4::float8 * interval '1 millisecond', prober = null, probe_until = null
     where id = $1::integer and generation = $2::integer and state = 'closed' and has_circuit
     returning id, state, generation, since, failed_probes
   ), held as (
     update ledger.subscriber s set held_at = o.since from opened o where s.limiter = o.id
   )
   select state, generation, failed_probes as "failedProbes" from opened`,
)

export interface CircuitTrip {
  readonly limiter: number
  /** The generation in which the runs failed. */
  readonly generation: number
  readonly reason: string
  /** Until the first probe. */
  readonly openMs: number
}

/** Undefined: another process has changed the circuit. */
export async function openCircuit(db: Queryable, trip: CircuitTrip): Promise<CircuitChange | undefined> {
  const { limiter, generation, reason, openMs } = trip
  const [changed] = await rows<CircuitChange>(db, OPEN, [
    limiter,
    generation,
    binary.storable(reason),
    openMs,
  ])
  return changed
}

/** Whether a worker may claim a probe of limiter `l` now. */
const IS_PROBE_DUE = `(l.state = 'open' and l.probe_at <= now()
     or l.state = 'half-open' and (l.prober is null or l.probe_until < now()
       or not exists (select from ledger.worker w where w.id = l.prober and w.dead_at is null and w.lease_until > now())))`

const READ = statement(
  'read_circuits',
  `select l.id, l.state, l.generation, l.failed_probes as "failedProbes", ${IS_PROBE_DUE} as "isProbeDue"
   from ledger.limiter l where l.id = any($1::integer[])`,
)

export interface CircuitRow extends CircuitChange {
  readonly id: number
  readonly isProbeDue: boolean
}

export async function readCircuits(db: Queryable, limiters: readonly number[]): Promise<CircuitRow[]> {
  return rows(db, READ, [binary.integers(limiters)])
}

/* One index probe per shard and subscriber, as in `due`. */
const DUE_PROBE = statement(
  'due_probe',
  `select n.shard::integer as shard, s.id as subscriber
   from ledger.subscriber s
   join ledger.source o on o.tenant = s.tenant and o.name = s.source and o.paused_at is null
   cross join generate_series(0, $1::integer - 1) n(shard)
   cross join lateral (
     select j.due_at from ledger.job j
     where j.shard = n.shard and j.subscriber = s.id and j.state in ${CLAIMABLE} and j.due_at <= now()
       and ${NO_SUSPECT}
     order by j.due_at limit 1
   ) j
   where s.limiter = $2::integer and s.id = any($3::integer[]) and s.paused_at is null
   order by j.due_at limit 1`,
)

export interface ProbeQuestion {
  readonly shards: number
  readonly limiter: number
  /** Of the calling process. */
  readonly subscribers: readonly number[]
}

export interface ProbePlace {
  readonly shard: number
  readonly subscriber: number
}

/** The place of the oldest due job of a limiter. Undefined: none is due. */
export async function dueProbe(db: Queryable, question: ProbeQuestion): Promise<ProbePlace | undefined> {
  const { shards, limiter, subscribers } = question
  const [place] = await rows<ProbePlace>(db, DUE_PROBE, [shards, limiter, binary.integers(subscribers)])
  return place
}

/*
 * Claims one job as a probe, and the right to probe, in one commit. If two workers try, the second
 * waits for the limiter's row, finds that its probe is no longer due, and leaves its job.
 */
const CLAIM_PROBE: Statement = claimOf(
  'claim_probe',
  `select d.ctid as at from hurried cross join lateral (
       select j.ctid, j.due_at from ledger.job j
       where j.shard = $1::smallint and j.subscriber = $2::integer and j.state in ${CLAIMABLE} and j.due_at <= now()
         and ${NO_SUSPECT}
       order by j.due_at limit 1
       for update skip locked
     ) d`,
  {
    before: `probing as (
     update ledger.limiter l
     set state = 'half-open', generation = l.generation + 1, prober = $4::integer,
       probe_until = now() + $5::float8 * interval '1 millisecond'
     where l.id = $3::integer and exists (select from picked) and ${IS_PROBE_DUE}
     returning l.generation, l.failed_probes
   ), `,
    condition: ' and exists (select from probing)',
    columns:
      ', (select generation from probing) as generation, (select failed_probes from probing) as "failedProbes"',
  },
)

export interface ProbeClaim extends ProbePlace {
  readonly limiter: number
  readonly worker: number
  /** By then the probe has ended, or its process has lost it. */
  readonly withinMs: number
}

export interface Probe {
  readonly job: ClaimedJob
  readonly generation: number
  readonly failedProbes: number
}

/** Undefined: the job is gone, or another worker is probing. */
export async function claimProbe(db: Queryable, claim: ProbeClaim): Promise<Probe | undefined> {
  const { shard, subscriber, limiter, worker, withinMs } = claim
  const [row] = await rows<Omit<ClaimedJob, 'shard'> & Omit<Probe, 'job'>>(db, CLAIM_PROBE, [
    shard,
    subscriber,
    limiter,
    worker,
    withinMs,
  ])
  if (!row) return undefined
  const { generation, failedProbes, ...job } = row
  return { job: { ...job, shard }, generation, failedProbes }
}

const PASS = statement(
  'pass_probe',
  `with passed as (
     update ledger.limiter l
     set generation = l.generation + 1, passed_probes = l.passed_probes + 1, prober = null, probe_until = null,
       state = case when l.passed_probes + 1 >= $3::integer then 'closed' else 'half-open' end,
       since = case when l.passed_probes + 1 >= $3::integer then clock.now else l.since end,
       reason = case when l.passed_probes + 1 >= $3::integer then null else l.reason end
     from (select now() as now) clock
     where l.id = $1::integer and l.generation = $2::integer and l.state = 'half-open'
     returning l.id, l.state, l.generation, l.failed_probes
   ), released as (
     update ledger.subscriber s set held_at = null from passed p where s.limiter = p.id and p.state = 'closed'
   )
   select state, generation, failed_probes as "failedProbes" from passed`,
)

/* Doubles the time to the next probe with each failure. */
const FAIL = statement(
  'fail_probe',
  `with next as materialized (
     select n.id, now() + least($4::float8 * power(2, least(n.failed_probes + 1, 30)), $5::float8)
       * interval '1 millisecond' as probe_at
     from ledger.limiter n where n.id = $1::integer
   )
   update ledger.limiter l
   set generation = l.generation + 1, passed_probes = 0, failed_probes = least(l.failed_probes + 1, 1000), prober = null,
     probe_until = null, state = 'open', reason = $3, probe_at = next.probe_at
   from next
   where l.id = next.id and l.generation = $2::integer and l.state = 'half-open'
   returning l.state, l.generation, l.failed_probes as "failedProbes"`,
)

/** The probe was not run to its end: any worker may claim the next one. */
const RELEASE = statement(
  'release_probe',
  `update ledger.limiter set generation = generation + 1, prober = null, probe_until = null
   where id = $1::integer and generation = $2::integer and state = 'half-open'
   returning state, generation, failed_probes as "failedProbes"`,
)

/** A probe that has ended, in the generation of its claim. */
export interface EndedProbe {
  readonly limiter: number
  readonly generation: number
}

/**
 * Closes the circuit after this many successful probes in a row. Undefined: the probe was no longer
 * valid.
 */
export async function passProbe(
  db: Queryable,
  { limiter, generation }: EndedProbe,
  probes: number,
): Promise<CircuitChange | undefined> {
  const [changed] = await rows<CircuitChange>(db, PASS, [limiter, generation, probes])
  return changed
}

export interface FailedProbe extends EndedProbe {
  readonly reason: string
  readonly openMs: number
  readonly maxOpenMs: number
}

export async function failProbe(db: Queryable, failed: FailedProbe): Promise<CircuitChange | undefined> {
  const { limiter, generation, reason, openMs, maxOpenMs } = failed
  const [changed] = await rows<CircuitChange>(db, FAIL, [
    limiter,
    generation,
    binary.storable(reason),
    openMs,
    maxOpenMs,
  ])
  return changed
}

export async function releaseProbe(
  db: Queryable,
  { limiter, generation }: EndedProbe,
): Promise<CircuitChange | undefined> {
  const [changed] = await rows<CircuitChange>(db, RELEASE, [limiter, generation])
  return changed
}

/* Locks in key order: if two processes resume the same source, one waits for the other. */
const PROBE_NOW = statement(
  'probe_now',
  `with waiting as materialized (
     select l.id from ledger.limiter l
     where l.state = 'open' and l.probe_at > now() and l.id in (
       select s.limiter from ledger.subscriber s
       where s.tenant = $1 and s.source = $2 and ($3::text is null or s.name = $3::text)
     )
     order by l.id
     for update
   )
   update ledger.limiter l set probe_at = now() from waiting w where l.id = w.id`,
)

/**
 * Makes the next probe due, of one subscriber or of all subscribers of a source. Returns the number
 * of circuits whose probe was not due yet.
 */
export async function probeNow(
  db: Queryable,
  target: { readonly tenant: string; readonly source: string; readonly subscriber: string | undefined },
): Promise<number> {
  return change(db, PROBE_NOW, [target.tenant, target.source, target.subscriber ?? null])
}
