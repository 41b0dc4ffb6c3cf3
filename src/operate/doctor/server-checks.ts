import { connectionsPerProcess } from '../../ledger/ledger.ts'
import type { PoolerMode } from '../../ledger/read/pooler.ts'
import type { Checkpoints, ServerFacts } from '../../ledger/read/server.ts'
import { type Finding, fail, GIGABYTE, MEGABYTE, ok, sizeText, warn } from './finding.ts'

/* Judges the server's own settings and statistics. */

const OLDEST_POSTGRES = 140_000

export function versionFinding({ version, versionNumber }: ServerFacts): Finding {
  const seen = `PostgreSQL ${version}`
  if (versionNumber >= OLDEST_POSTGRES) return ok('version', seen)
  return fail('version', seen, 'hookonce needs PostgreSQL 14 or later: upgrade the server')
}

export function primaryFinding({ isStandby, isReadOnly }: ServerFacts): Finding {
  if (isStandby)
    return fail(
      'primary',
      'the server is a standby',
      'let DATABASE_URL name the primary: a standby cannot write',
    )
  if (isReadOnly)
    return fail(
      'primary',
      'default_transaction_read_only = on',
      'turn it off for this role and database: nothing can be recorded',
    )
  return ok('primary', 'the server accepts writes')
}

export function durabilityFindings(facts: ServerFacts): Finding[] {
  const { fsync, fullPageWrites, synchronousCommit } = facts
  return [
    fsync === 'off'
      ? fail(
          'fsync',
          'fsync = off',
          'set fsync = on and reload: a crash of the machine loses acknowledged events, or the database',
        )
      : ok('fsync', `fsync = ${fsync}`),
    fullPageWrites === 'off'
      ? warn(
          'full_page_writes',
          'full_page_writes = off',
          'set it to on, unless the file system writes 8 kB pages atomically (such as ZFS)',
        )
      : ok('full_page_writes', 'full_page_writes = on'),
    commitFinding(synchronousCommit),
  ]
}

function commitFinding(setting: string): Finding {
  const check = 'synchronous_commit'
  const seen = `synchronous_commit = ${setting}`
  if (setting !== 'off') return ok(check, seen)
  return warn(
    check,
    seen,
    'hookonce raises it for its own commits; set it to on, so that other writes of your app survive a crash too',
  )
}

/** A failover to an asynchronous standby loses the commits that the standby has not received. */
export function standbyFinding(facts: ServerFacts): Finding {
  const { synchronousNames: names, standbys, synchronousStandbys, standbyBehind, seesOthers } = facts
  const check = 'standby'
  const setting = `synchronous_standby_names = '${names}'`
  if (names !== '' && facts.synchronousCommit === 'local')
    return warn(
      check,
      `${setting}, but synchronous_commit = local`,
      'set synchronous_commit to on: commits wait for no standby now, and a failover loses acknowledged events',
    )
  if (!seesOthers)
    return names === ''
      ? ok(check, `${setting}; the role "${facts.role}" cannot see standbys (grant pg_read_all_stats)`)
      : ok(check, setting)
  if (names === '' && standbys === 0) return ok(check, 'no standby follows this server')
  if (names === '')
    return warn(
      check,
      `${countOf(standbys)} asynchronous, up to ${sizeText(standbyBehind ?? 0)} behind`,
      'set synchronous_standby_names: a failover loses acknowledged events that the standby has not received',
    )
  if (synchronousStandbys === 0)
    return fail(
      check,
      `${setting}, and no such standby is connected`,
      'start the standby, or change the setting: every commit waits for it, and deliveries are answered with 503',
    )
  return ok(check, `${setting}; ${synchronousStandbys} of ${countOf(standbys)} synchronous`)
}

const countOf = (standbys: number): string => (standbys === 1 ? '1 standby is' : `${standbys} standbys are`)

export interface Sized {
  readonly ledgerBytes: number
}

const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value))

/**
 * Ids of receipts are hashes, so each delivery reads a random page of the primary key, which should
 * stay in memory. An eighth of the ledger is an estimate, not a measurement.
 */
export function buffersFinding({ sharedBuffers }: ServerFacts, { ledgerBytes }: Sized): Finding {
  const wanted = clamp(ledgerBytes / 8, 128 * MEGABYTE, 8 * GIGABYTE)
  const seen = `shared_buffers = ${sizeText(sharedBuffers)}, for a ledger of ${sizeText(ledgerBytes)}`
  if (sharedBuffers >= wanted) return ok('shared_buffers', seen)
  return warn(
    'shared_buffers',
    seen,
    `raise it to ${sizeText(wanted)} or to a quarter of the memory, and restart the server`,
  )
}

/**
 * Below this number, checkpoints prove nothing: a restart or a backup also requests checkpoints.
 */
const MANY_CHECKPOINTS = 10

/**
 * After a checkpoint, the first change of each page writes the whole page to the log. With random
 * ids these pages are most of the log, so checkpoints should be rare on a large ledger.
 */
export function walFinding(
  { maxWalSize }: ServerFacts,
  { ledgerBytes, timed, requested }: Sized & Checkpoints,
): Finding {
  const wanted = clamp(ledgerBytes / 4, GIGABYTE, 16 * GIGABYTE)
  const isOften = requested >= MANY_CHECKPOINTS && requested > timed
  const often = isOften ? `; ${requested} of ${requested + timed} checkpoints came early` : ''
  const seen = `max_wal_size = ${sizeText(maxWalSize)}, for a ledger of ${sizeText(ledgerBytes)}${often}`
  if (maxWalSize >= wanted && !isOften) return ok('max_wal_size', seen)
  const target = Math.max(wanted, isOften ? maxWalSize * 2 : 0)
  return warn(
    'max_wal_size',
    seen,
    `set max_wal_size to ${sizeText(target)} and reload, if the disk has room`,
  )
}

export interface PoolPlan {
  /** The number of processes that share the database. */
  readonly processes: number
  /** The number of connections of each process for handlers. */
  readonly maxConnections: number
  /** The number of ledgers of each process, and how many of them are in this database. */
  readonly ledgers?: { readonly all: number; readonly here: number } | undefined
  readonly pooler: PoolerMode
}

export function connectionsFinding(facts: ServerFacts, plan: PoolPlan): Finding {
  const check = 'connections'
  const { all, here } = plan.ledgers ?? { all: 1, here: 1 }
  const perProcess = (connectionsPerProcess(plan.maxConnections, all) / all) * here
  const needed = plan.processes * perProcess
  const limits = [
    facts.maxConnections - facts.reservedConnections,
    facts.roleConnections,
    facts.databaseConnections,
  ].filter((limit) => limit >= 0)
  const available = Math.min(...limits)
  const seen = `${plan.processes} ${plan.processes === 1 ? 'process opens' : 'processes open'} up to ${needed}; ${available} are allowed, other programs use ${facts.otherSessions} now`
  if (plan.pooler !== 'none')
    return ok(check, `${seen}; the pooler in between has limits of its own (max_client_conn)`)
  const advice =
    'raise max_connections (and the limits of role and database), run fewer processes, or use a pooler'
  if (needed > available) return fail(check, seen, advice)
  if (needed > available - facts.otherSessions) return warn(check, seen, advice)
  return ok(check, seen)
}

export function poolerFinding(mode: PoolerMode, isExpected: boolean): Finding {
  const check = 'pooler'
  switch (mode) {
    case 'statement':
      return fail(
        check,
        'a pooler in statement mode',
        'set pool_mode = transaction (or session): hookonce needs transactions',
      )
    case 'transaction':
      if (isExpected) return ok(check, 'a pooler in transaction mode, as expected')
      return warn(
        check,
        'a pooler in transaction mode',
        "start `hookonce serve --pooler` (library: prepare: 'off'), or connect to the server directly; then run doctor with --pooler",
      )
    case 'session':
      return ok(check, 'a pooler in session mode: each connection of hookonce holds one of the server')
    case 'none':
      return isExpected
        ? warn(check, 'no pooler was seen', 'leave out --pooler: prepared statements and LISTEN are faster')
        : ok(check, 'none: connected to the server directly')
  }
}

/** Providers' signatures carry a time, which receivers compare with their own clock. */
const WARN_SKEW_MS = 2_000
/** Many providers allow five minutes, some only one. */
const FAIL_SKEW_MS = 60_000

export interface ClockReading {
  /** The server's clock minus ours. */
  readonly skewMs: number
  readonly roundTripMs: number
}

export function clockFinding({ skewMs, roundTripMs }: ClockReading): Finding {
  // A difference within the round trip may come from the network.
  const certainMs = Math.max(0, Math.abs(skewMs) - roundTripMs / 2)
  const side = skewMs > 0 ? 'behind' : 'ahead of'
  const seen =
    certainMs < 100
      ? 'this machine and the database agree'
      : `the clock of this machine is ${(certainMs / 1_000).toFixed(1)} s ${side} that of the database`
  const advice = 'synchronise both machines (chrony, ntpd or systemd-timesyncd): signatures carry a time'
  if (certainMs >= FAIL_SKEW_MS) return fail('clock', seen, advice)
  return certainMs >= WARN_SKEW_MS ? warn('clock', seen, advice) : ok('clock', seen)
}
