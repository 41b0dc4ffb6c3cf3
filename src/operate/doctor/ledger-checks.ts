import type { OldSession, PreparedTransaction, ReplicationSlot } from '../../ledger/read/horizon.ts'
import type { Backlog } from '../../ledger/read/jobs.ts'
import type { ServerFacts } from '../../ledger/read/server.ts'
import type { LedgerTable, SchemaRights } from '../../ledger/read/tables.ts'
import type { LiveWorker } from '../../ledger/read/workers.ts'
import type { DataKeyRow } from '../../ledger/vault/data-keys.ts'
import type { MasterKey } from '../../ledger/vault/master-keys.ts'
import { durationText, type Finding, fail, GIGABYTE, ok, sizeText, warn } from './finding.ts'

/* Judges the contents of the ledger and the statistics of its tables. */

const ROLE_PAGE = 'see docs/reference/database-role.md'
const MAX_NAMED = 3

export interface RightsSeen {
  readonly rights: SchemaRights | undefined
  readonly schema: string
  readonly isEmbedded: boolean
}

export function rightsFinding(facts: ServerFacts, { rights, schema, isEmbedded }: RightsSeen): Finding {
  const check = 'rights'
  if (rights === undefined) return warn(check, `there is no schema "${schema}" yet`, 'run `hookonce migrate`')
  if (!rights.hasUsage)
    return fail(
      check,
      `the role "${facts.role}" may not use the schema "${schema}"`,
      `grant usage on schema "${schema}" to "${facts.role}" (${ROLE_PAGE})`,
    )
  if (rights.missing.length > 0) {
    const named = rights.missing
      .slice(0, MAX_NAMED)
      .map(({ name, missing }) => `${missing.join(', ')} on ${name}`)
    const more = rights.missing.length > MAX_NAMED ? `, and ${rights.missing.length - MAX_NAMED} more` : ''
    return fail(
      check,
      `the role "${facts.role}" lacks ${named.join('; ')}${more}`,
      `grant these rights as the owner of the schema (${ROLE_PAGE})`,
    )
  }
  if (facts.isSuperuser && !isEmbedded)
    return warn(
      check,
      `the role "${facts.role}" is a superuser`,
      `run hookonce with a role that can only read and write its rows (${ROLE_PAGE})`,
    )
  return ok(check, `the role "${facts.role}" may read and write every table of the schema "${schema}"`)
}

/** A process does not start without the key that wraps the data keys of its tenants. */
export function encryptionFinding(
  keys: readonly Pick<DataKeyRow, 'master' | 'wrapped'>[],
  masters: readonly Pick<MasterKey, 'id'>[],
): Finding {
  const check = 'encryption'
  const live = keys.filter(({ wrapped }) => wrapped !== null)
  const closed = live.filter(({ master }) => !masters.some(({ id }) => id === master))
  if (closed.length > 0) {
    const ids = [...new Set(closed.map(({ master }) => master))].join(', ')
    return fail(
      check,
      `${closed.length} of ${live.length} data keys need a key that is not configured here (${ids})`,
      'set HOOKONCE_ENCRYPTION_KEY to that key, or to new,old during a rotation',
    )
  }
  if (masters.length === 0) return ok(check, 'bodies and headers are stored without encryption')
  return ok(check, `the configured keys open all ${live.length} data keys`)
}

/**
 * A worker claims due jobs at once, so an older due job means that no slot was free for this long.
 */
const WARN_LAG_SECONDS = 60
const FAIL_LAG_SECONDS = 900

export function lagFinding(jobs: readonly Backlog[], workers: readonly LiveWorker[]): Finding {
  const check = 'lag'
  const seconds = Math.max(0, ...jobs.map(({ lagSeconds }) => lagSeconds))
  const waiting = jobs.reduce((sum, job) => sum + job.waiting + job.retrying, 0)
  const running = `${workers.length} ${workers.length === 1 ? 'worker runs' : 'workers run'}`
  const seen = `${waiting} ${waiting === 1 ? 'job waits' : 'jobs wait'}, the oldest has been due for ${durationText(seconds)}; ${running}`
  if (seconds < WARN_LAG_SECONDS) return ok(check, waiting === 0 ? `no job waits; ${running}` : seen)
  const advice =
    workers.length === 0
      ? 'start a worker: `hookonce serve`, or `start()` in your app'
      : '`hookonce status` shows where they wait; add processes, or raise `concurrency`'
  return seconds < FAIL_LAG_SECONDS && workers.length > 0
    ? warn(check, seen, advice)
    : fail(check, seen, advice)
}

export function peopleFinding(jobs: readonly Backlog[]): Finding {
  const failed = jobs.reduce((sum, job) => sum + job.failed, 0)
  const attention = jobs.reduce((sum, job) => sum + job.attention, 0)
  const seen = `${failed} failed, ${attention} need attention`
  if (failed + attention === 0) return ok('failures', 'no job failed or waits for a decision')
  const advice = [
    ...(failed > 0 ? ['`hookonce failures` groups them by error'] : []),
    ...(attention > 0 ? ['decide with `hookonce attention list`'] : []),
  ].join('; ')
  return warn('failures', seen, advice)
}

/** A transaction that has been open this many times longer than the limit is a failure. */
const FAIL_TRANSACTION_FACTOR = 6
/** A replication slot without a reader may keep this much log before it causes a warning. */
const WARN_SLOT_BYTES = GIGABYTE
/** The number of transactions that a slot may hold: some minutes of a busy ledger. */
const WARN_SLOT_AGE = 1_000_000

export interface Horizon {
  /** The limit above which open transactions are reported. */
  readonly maxSeconds: number
  readonly sessions: readonly OldSession[]
  readonly prepared: readonly PreparedTransaction[]
  readonly slots: readonly ReplicationSlot[]
}

export function horizonFinding(
  facts: ServerFacts,
  { maxSeconds, sessions, prepared, slots }: Horizon,
): Finding {
  const check = 'horizon'
  const oldest = Math.max(
    0,
    ...sessions.map(({ seconds }) => seconds),
    ...prepared.map(({ seconds }) => seconds),
  )
  const stuck = slots.filter(
    ({ isActive, age, bytes, status }) =>
      status === 'lost' || (!isActive && bytes > WARN_SLOT_BYTES) || age > WARN_SLOT_AGE,
  )
  const seen = [
    ...sessions.map(
      ({ pid, user, application, state, seconds }) =>
        `pid ${pid} (${[user, application, state].filter(Boolean).join(', ')}) has a transaction open for ${durationText(seconds)}`,
    ),
    ...prepared.map(
      ({ gid, seconds }) => `the transaction "${gid}" has been prepared for ${durationText(seconds)}`,
    ),
    ...stuck.map(
      ({ name, isActive, age, bytes }) =>
        `the replication slot "${name}"${isActive ? '' : ', which has no reader,'} keeps ${sizeText(bytes)} of log and holds back ${age} transactions`,
    ),
  ]
  const [first] = sessions
  const [gid] = prepared
  const [slot] = stuck
  const advice = [
    ...(first ? [`find out what it does, or end it: select pg_terminate_backend(${first.pid})`] : []),
    ...(gid ? [`finish it: rollback prepared '${gid.gid}'`] : []),
    ...(slot ? [`drop it if it is not needed: select pg_drop_replication_slot('${slot.name}')`] : []),
  ].join('; ')
  if (seen.length > 0) {
    const report = oldest > FAIL_TRANSACTION_FACTOR * maxSeconds ? fail : warn
    return report(check, seen.join('; '), `${advice}. Vacuum cannot remove dead rows meanwhile`)
  }
  if (!facts.seesOthers && !facts.isSuperuser)
    return ok(check, `no old transaction of the role "${facts.role}"; it cannot see those of others`)
  return ok(check, 'no transaction, prepared transaction or replication slot holds vacuum back')
}

/**
 * PostgreSQL stops writes at about two billion transactions; autovacuum freezes from 200 million.
 */
const WARN_AGE = 1_000_000_000
const FAIL_AGE = 1_800_000_000
/** Autovacuum starts at a fifth of a table. More than that means that it cannot keep up. */
const WARN_DEAD_SHARE = 0.4
const WARN_DEAD_ROWS = 50_000

export function vacuumFinding(facts: ServerFacts, tables: readonly LedgerTable[]): Finding {
  const check = 'vacuum'
  if (facts.transactionAge > WARN_AGE) {
    const report = facts.transactionAge > FAIL_AGE ? fail : warn
    const seen = `the database has not been frozen for ${facts.transactionAge} transactions`
    return report(check, seen, 'run `vacuum freeze`: the server stops all writes at about two billion')
  }
  const off = tables.filter(({ isVacuumOff }) => isVacuumOff)
  if (facts.autovacuum === 'off' || facts.trackCounts === 'off')
    return warn(
      check,
      `autovacuum = ${facts.autovacuum}, track_counts = ${facts.trackCounts}`,
      'set both to on: claims slow down with every dead row',
    )
  if (off.length > 0)
    return warn(
      check,
      `autovacuum is off for ${off.map(({ name }) => name).join(', ')}`,
      'reset it: alter table … reset (autovacuum_enabled)',
    )
  const bloated = tables.filter(
    ({ live, dead }) => dead > WARN_DEAD_ROWS && dead > WARN_DEAD_SHARE * (live + dead),
  )
  if (bloated.length > 0)
    return warn(
      check,
      bloated.map(({ name, live, dead }) => `${name} has ${dead} dead rows and ${live} live ones`).join('; '),
      'look at `horizon` first; then run `vacuum` on these tables, and lower autovacuum_vacuum_cost_delay',
    )
  const dead = tables.reduce((sum, table) => sum + table.dead, 0)
  return ok(check, `autovacuum is on; ${dead} dead rows in the ledger`)
}
