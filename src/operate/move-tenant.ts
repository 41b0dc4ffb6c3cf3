import { setTimeout as delay } from 'node:timers/promises'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { LedgerMember, LedgerSet } from '../ledger/ledger-set.ts'
import {
  fenceLanes,
  fenceRuns,
  hasInlineKeys,
  holdJobs,
  holdLanes,
  letGoOf,
  replaysOf,
  runsOf,
} from '../ledger/places/hold-tenant.ts'
import { closeIntake } from '../ledger/places/intake.ts'
import { changePlace, type PlaceChange, readPlaces, type TenantPlace } from '../ledger/places/places.ts'
import { copyTenant, deleteTenant, takenIds } from '../ledger/places/tenant-rows.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { type DecisionReason, requireReason } from './audit.ts'

/*
 * Moves a tenant to another ledger while other tenants work on:
 *
 *   announce → close the intake → let runs end → copy → switch the record → delete the old rows
 *
 * Until the switch, the old ledger counts, and its rows do not change: the ledger itself refuses
 * new receipts, jobs are held and runs have ended or are fenced. Deliveries are answered 503
 * meanwhile, and senders retry. A move that was interrupted continues when it is started again:
 * before the switch it copies anew, after it only the rest is done.
 */

export interface TenantMove {
  readonly tenant: string
  /** The name of the ledger. */
  readonly to: string
  /** Runs that take longer are fenced, and run again in the new ledger. */
  readonly drainMs?: number
  readonly onStep?: ((step: MoveStep) => void) | undefined
}

export type MoveStep = 'closing' | 'draining' | 'copying' | 'switching' | 'deleting'

export interface Moved {
  readonly tenant: string
  readonly from: string
  readonly to: string
}

const DRAIN_MS = 60_000
const LOOK_EVERY_MS = 100

export async function moveTenant(set: LedgerSet, move: TenantMove, reason: DecisionReason): Promise<Moved> {
  requireReason(reason, 'a move')
  const { tenant, to } = move
  const home = await memberNamed(set, set.members[0]?.name ?? '').tables()
  const target = await memberNamed(set, to).tables()
  const [place] = await readPlaces(home.pool, [tenant])
  if (!place) throw new HookonceError('CONFIG_INVALID', `no ledger records a tenant "${tenant}"`)
  if (place.ledger === to) return finish(set, place, { move, home, target })
  const source = await memberNamed(set, place.ledger).tables()
  await requireMovable(source, target, move)

  move.onStep?.('closing')
  await announce(home, source, { tenant, ledger: place.ledger, movingTo: to })
  move.onStep?.('draining')
  await drain(source, move)
  move.onStep?.('copying')
  await deleteTenant(target.pool, target.shards, tenant)
  await copyTenant({ from: source.pool, to: target.pool, shards: source.shards, tenant })
  move.onStep?.('switching')
  // From this commit on, the tenant lives in the new ledger.
  await changePlace(home.pool, { tenant, ledger: to, movedFrom: place.ledger })
  await recordAudit(target.pool, {
    actor: reason.by,
    action: 'move-tenant',
    why: reason.why,
    tenant,
    subject: tenant,
    detail: { from: place.ledger, to },
    address: reason.address,
  })
  return finish(set, { ...place, movedFrom: place.ledger }, { move, home, target })
}

interface MoveLedgers {
  readonly move: TenantMove
  readonly home: LedgerTables
  readonly target: LedgerTables
}

/** The work that remains after the switch. Each part may be repeated. */
async function finish(
  set: LedgerSet,
  place: TenantPlace,
  { move, home, target }: MoveLedgers,
): Promise<Moved> {
  const { tenant, to } = move
  const from = place.movedFrom
  if (from === null)
    throw new HookonceError('CONFIG_INVALID', `tenant "${tenant}" already lives in the ledger ${to}`)
  const source = await memberNamed(set, from).tables()
  await inTransaction(target.pool, async (client) => {
    // In the home ledger, the record of the tenant also holds the remaining work.
    const movedFrom = target.pool === home.pool ? { movedFrom: from } : {}
    await changePlace(client, { tenant, ledger: to, here: 'arrives', ...movedFrom })
    await closeIntake(client)
    await letGoOf(client, tenant)
    await client.query('commit')
  })
  if (source.pool !== home.pool) await changePlace(source.pool, { tenant, ledger: to })
  move.onStep?.('deleting')
  await deleteTenant(source.pool, source.shards, tenant)
  await changePlace(home.pool, { tenant, ledger: to })
  return { tenant, from, to }
}

/**
 * Processes stop accepting deliveries of the tenant. The old ledger refuses deliveries that still
 * arrive.
 */
async function announce(home: LedgerTables, source: LedgerTables, place: PlaceChange): Promise<void> {
  await changePlace(home.pool, place)
  await inTransaction(source.pool, async (client) => {
    await changePlace(client, { ...place, here: 'leaves' })
    await closeIntake(client)
    await holdJobs(client, place.tenant)
    await client.query('commit')
  })
}

async function drain({ pool }: LedgerTables, { tenant, drainMs = DRAIN_MS }: TenantMove): Promise<void> {
  const end = performance.now() + drainMs
  await untilNone(() => runsOf(pool, tenant), end)
  await fenceRuns(pool, tenant)
  await untilNone(() => holdLanes(pool, tenant), end)
  await fenceLanes(pool, tenant)
}

async function untilNone(count: () => Promise<number>, end: number): Promise<void> {
  while ((await count()) > 0 && performance.now() < end) await delay(LOOK_EVERY_MS)
}

async function requireMovable(
  source: LedgerTables,
  target: LedgerTables,
  { tenant, to }: TenantMove,
): Promise<void> {
  const refuse = (fault: string): never => {
    throw new HookonceError('CONFIG_INVALID', `tenant "${tenant}" cannot be moved to ${to}: ${fault}`)
  }
  if (source.shards !== target.shards)
    refuse(
      `the ledgers have ${source.shards} and ${target.shards} shards, and the shard is part of every key`,
    )
  if ((await replaysOf(source.pool, tenant)) > 0)
    refuse('a replay of many jobs is running; wait for it, or cancel it')
  if (await hasInlineKeys(source.pool)) refuse('its ledger has keys of inline sources, which do not move')
  const taken = await takenIds({ from: source.pool, to: target.pool, tenant })
  if (taken.length > 0) refuse(`another tenant there has the ids ${taken.join(', ')}`)
}

function memberNamed(set: LedgerSet, name: string): LedgerMember {
  const found = set.members.find((member) => member.name === name)
  if (found) return found
  const names = set.members.map((member) => member.name).join(', ')
  throw new HookonceError('CONFIG_INVALID', `no ledger is named "${name}" (there are: ${names})`)
}
