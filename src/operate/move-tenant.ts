import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
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
import {
  changePlace,
  type MarkedPlace,
  markedPlace,
  PlaceChanged,
  replacePlace,
  replacePlaceIn,
  requireUnchanged,
} from '../ledger/places/places.ts'
import { copyTenant, deleteTenant, takenIds } from '../ledger/places/tenant-rows.ts'
import { type AuditEntry, recordAudit } from '../ledger/read/audit.ts'
import { HookonceError } from '../model/errors.ts'
import { isDown } from './across.ts'
import { type DecisionReason, requireReason } from './audit.ts'

/*
 * Moves a tenant to another ledger while other tenants work on:
 *
 *   announce → close the intake → let runs end → copy → switch the record → delete the old rows
 *
 * Until the switch, the old ledger counts, and its rows do not change: the ledger itself refuses
 * new receipts, jobs are held and runs have ended or are fenced. Deliveries are answered 503
 * meanwhile, and senders retry. A move that was interrupted continues when it is started again:
 * before the switch it copies anew, after it only the rest is done. A move back to the old ledger
 * cancels it before the switch.
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
  /** The ledger to which the tenant was being moved. It stays where it was. */
  readonly cancelled?: string
}

const DRAIN_MS = 60_000
const LOOK_EVERY_MS = 100

export async function moveTenant(set: LedgerSet, move: TenantMove, reason: DecisionReason): Promise<Moved> {
  requireReason(reason, 'a move')
  const { tenant, to } = move
  memberNamed(set, to)
  const home = await memberNamed(set, set.members[0]?.name ?? '').tables()
  const parts: MoveParts = { set, move, home, reason }
  const recorded = await markedPlace(home.pool, tenant)
  if (!recorded) throw new HookonceError('CONFIG_INVALID', `no ledger records a tenant "${tenant}"`)
  const { place, ended } = await endEarlierMove(parts, recorded)
  if (ended && place.ledger === to) return ended
  if (place.ledger === to)
    throw new HookonceError('CONFIG_INVALID', `tenant "${tenant}" already lives in the ledger ${to}`)
  const arrived = await moveRows(parts, place)
  await finish(parts, arrived, place.ledger)
  return { tenant, from: place.ledger, to }
}

interface MoveParts {
  readonly set: LedgerSet
  readonly move: TenantMove
  readonly home: LedgerTables
  readonly reason: DecisionReason
}

interface EarlierMove {
  readonly place: MarkedPlace
  /** Undefined: no move was interrupted, or only one to the same ledger. */
  readonly ended?: Moved
}

/**
 * The record names the ledgers with rows of the tenant, so that the erasure of its key reaches all
 * of them. A third ledger would not be named, so an earlier move ends before another one begins.
 */
async function endEarlierMove(parts: MoveParts, place: MarkedPlace): Promise<EarlierMove> {
  const { tenant, to } = parts.move
  const { ledger, movingTo, movedFrom } = place
  if (movedFrom !== null) {
    const finished = await finish(parts, place, movedFrom)
    return { place: finished, ended: { tenant, from: movedFrom, to: ledger } }
  }
  if (movingTo === null || movingTo === to) return { place }
  const cancelled = await cancel(parts, place, movingTo)
  return { place: cancelled, ended: { tenant, from: ledger, to: ledger, cancelled: movingTo } }
}

/** The tenant stays in its ledger, which has every row. Only the copy remains to be deleted. */
async function cancel(parts: MoveParts, place: MarkedPlace, movingTo: string): Promise<MarkedPlace> {
  const { set, home, reason } = parts
  const { tenant, ledger } = place
  const source = await memberNamed(set, ledger).tables()
  const left = await replacePlace(home.pool, place, { ledger, movedFrom: movingTo })
  await auditDurably(source.pool, {
    actor: reason.by,
    action: 'cancel-move',
    why: reason.why,
    tenant,
    subject: tenant,
    detail: { from: ledger, to: movingTo },
    address: reason.address,
  })
  return finish(parts, left, movingTo)
}

/** Until the switch at its end, the old ledger counts. */
async function moveRows({ set, move, home, reason }: MoveParts, place: MarkedPlace): Promise<MarkedPlace> {
  const { tenant, to } = move
  const from = place.ledger
  const source = await memberNamed(set, from).tables()
  const target = await memberNamed(set, to).tables()
  await requireMovable(source, target, move)

  move.onStep?.('closing')
  const announced = await announce(home, source, { place, to })
  move.onStep?.('draining')
  await drain(source, move)
  move.onStep?.('copying')
  const copied = async (): Promise<MarkedPlace> => {
    await deleteTenant(target.pool, target.shards, tenant)
    await copyTenant({
      from: source.pool,
      to: target.pool,
      shards: source.shards,
      tenant,
      beforeBatch: () => requireUnchanged(home.pool, announced),
    })
    move.onStep?.('switching')
    // From this commit on, the tenant lives in the new ledger.
    return replacePlace(home.pool, announced, { ledger: to, movedFrom: from })
  }
  const switched = await copied().catch(async (error: unknown) => {
    if (error instanceof PlaceChanged) await deleteUnrecorded(home, target, move)
    throw error
  })
  await auditDurably(target.pool, {
    actor: reason.by,
    action: 'move-tenant',
    why: reason.why,
    tenant,
    subject: tenant,
    detail: { from, to },
    address: reason.address,
  })
  return switched
}

function auditDurably(pool: Pool, entry: AuditEntry): Promise<void> {
  return inTransaction(pool, async (client) => {
    await recordAudit(client, entry)
    await client.query('commit')
  })
}

/** Another command has cancelled this move, and may have deleted the copy before its last rows came. */
async function deleteUnrecorded(home: LedgerTables, target: LedgerTables, move: TenantMove): Promise<void> {
  const place = await markedPlace(home.pool, move.tenant)
  if (place && [place.ledger, place.movingTo, place.movedFrom].includes(move.to)) return
  await deleteTenant(target.pool, target.shards, move.tenant)
}

/**
 * The work that remains after the switch, and after a cancelled move. Each part may be repeated.
 * The tenant works before the other ledger is opened, whose server may be down or lost.
 */
async function finish(
  { set, move, home }: MoveParts,
  place: MarkedPlace,
  from: string,
): Promise<MarkedPlace> {
  const { tenant, ledger } = place
  const target = await memberNamed(set, ledger).tables()
  const arrived = await inTransaction(target.pool, async (client) => {
    const isHome = target.pool === home.pool
    // In the home ledger, the record of the tenant also holds the remaining work.
    const after = isHome
      ? await replacePlaceIn(client, place, { ledger, movedFrom: from, here: 'arrives' })
      : place
    if (!isHome) await changePlace(client, { tenant, ledger, here: 'arrives' })
    await closeIntake(client)
    await letGoOf(client, tenant)
    await client.query('commit')
    return after
  })
  try {
    const source = await memberNamed(set, from).tables()
    if (source.pool !== home.pool) await changePlace(source.pool, { tenant, ledger })
    move.onStep?.('deleting')
    await deleteTenant(source.pool, source.shards, tenant)
  } catch (error) {
    if (!isDown(error)) throw error
    const fault = `tenant "${tenant}" lives and works in ${ledger}, but rows of it remain in ${from}, which cannot be reached; when it can, repeat \`hookonce ledgers move ${tenant} ${ledger}\` to delete them`
    throw new HookonceError('LEDGER_DOWN', fault, { cause: error })
  }
  return replacePlace(home.pool, arrived, { ledger })
}

interface Announcement {
  readonly place: MarkedPlace
  readonly to: string
}

/**
 * Processes stop accepting deliveries of the tenant. The old ledger refuses deliveries that still
 * arrive.
 */
async function announce(
  home: LedgerTables,
  source: LedgerTables,
  { place, to }: Announcement,
): Promise<MarkedPlace> {
  const { tenant, ledger } = place
  const isHome = source.pool === home.pool
  const moving = { ledger, movingTo: to }
  const recorded = isHome ? place : await replacePlace(home.pool, place, moving)
  return inTransaction(source.pool, async (client) => {
    const leaving = { ...moving, here: 'leaves' } as const
    const announced = isHome ? await replacePlaceIn(client, recorded, leaving) : recorded
    if (!isHome) await changePlace(client, { tenant, ...leaving })
    await closeIntake(client)
    await holdJobs(client, tenant)
    await client.query('commit')
    return announced
  })
}

async function drain(source: LedgerTables, { tenant, drainMs = DRAIN_MS }: TenantMove): Promise<void> {
  const { pool } = source
  const end = performance.now() + drainMs
  await untilNone(() => runsOf(pool, tenant), end)
  await fenceRuns(source, tenant)
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
