import { z } from 'zod'
import { check, keptName, strict } from '../input/checked.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import { type EntityId, lockVersion, recordFirstVersion, recordVersion } from '../ledger/effects/entities.ts'
import { HookonceError } from '../model/errors.ts'
import { scopedId, shardOf } from '../model/receipt-id.ts'
import {
  compareVersions,
  type Version,
  type VersionInput,
  type VersionKind,
  versionOf,
} from '../model/version.ts'

type Refetch = () => unknown

const optionsSchema = strict({
  /**
   * Decides if the version equals the applied one. `apply`: the later arrival wins. `skip`: the
   * earlier one wins. `refetch`: reads the entity at its source, which is right in any order.
   */
  tie: z.enum(['apply', 'skip', 'refetch']).default('apply'),
  /** Reads the entity at its source. The entity's row in the ledger is locked meanwhile. */
  refetch: z.custom<Refetch>((value) => typeof value === 'function', 'must be a function').optional(),
  /** The event deletes the entity. Its version is kept, so that a late event cannot revive it. */
  deleted: z.boolean().default(false),
}).refine(({ tie, refetch }) => tie !== 'refetch' || refetch !== undefined, {
  message: 'tie: "refetch" needs the function `refetch`',
})

export type LatestOptions<Current = unknown> = Omit<z.input<typeof optionsSchema>, 'refetch'> & {
  readonly refetch?: () => Current | Promise<Current>
}

export type Latest<Result> =
  | { readonly outcome: 'applied'; readonly result: Result }
  /** A newer version was already applied, so nothing was done. */
  | { readonly outcome: 'stale'; readonly reason: string }

export interface EntityUpdate<Result, Current> {
  readonly entity: string
  /** Without a version, `refetch` is required: only the source knows the current state. */
  readonly version: VersionInput | undefined
  readonly work: (current: Current | undefined) => Promise<Result>
  readonly options: LatestOptions<Current>
}

/** The scope in which the name of an entity is unique. */
export interface EntityScope {
  readonly tenant: string
  readonly shards: number
}

/**
 * Runs `work` in the transaction of `db` if the version is newer than the applied one, and records
 * the version there.
 */
export async function latest<Result, Current>(
  { tenant, shards }: EntityScope,
  db: Queryable,
  update: EntityUpdate<Result, Current>,
): Promise<Latest<Result>> {
  const name = check(keptName, update.entity, 'the name of an entity')
  const { tie, deleted } = check(optionsSchema, update.options, `latest("${name}")`)
  const { refetch } = update.options
  const id = scopedId('entity', tenant, name)
  const entity: EntityId = { shard: shardOf(id, shards), id, tenant, name }

  if (update.version === undefined) {
    if (!refetch) {
      const advice = 'the event has no version; pass one, or a function `refetch` that reads the entity'
      throw new HookonceError('VERSION_INVALID', `entity "${name}": ${advice}`)
    }
    return applied(await update.work(await refetchUnversioned(db, { entity, refetch, deleted })))
  }

  const version = versionOf(update.version)
  const next = { kind: version.as, version: version.value, deleted }
  if (await recordFirstVersion(db, entity, next)) return applied(await update.work(undefined))

  const before = await lockVersion(db, entity)
  if (before.kind === NO_VERSION && before.deleted) {
    // The recorded deletion has no version, so only the source knows whether this event is older.
    if (!refetch) return stale({ name, version, before: 'deleted, without a version' })
    const current = await refetch()
    if (isThere(current) && !deleted) await recordVersion(db, entity, next)
    return applied(await update.work(current))
  }
  const order = before.kind === NO_VERSION ? 1 : compare(name, version, before)
  if (order < 0) return stale({ name, version, before: before.version })
  if (order > 0) {
    await recordVersion(db, entity, next)
    return applied(await update.work(undefined))
  }
  // If an update and a deletion have the same version, the deletion wins in any order of arrival.
  if (before.deleted && !deleted) return stale({ name, version, before: `${before.version}, deleted` })
  const isDeletion = deleted && !before.deleted
  if (!isDeletion && tie === 'skip') return stale({ name, version, before: before.version })
  await recordVersion(db, entity, next)
  const current = !isDeletion && tie === 'refetch' ? await refetch?.() : undefined
  return applied(await update.work(current))
}

/** An entity without versions is locked too, so that the last read is also the last write. */
const NO_VERSION = 'none'

interface UnversionedUpdate<Current> {
  readonly entity: EntityId
  readonly refetch: () => Current | Promise<Current>
  readonly deleted: boolean
}

async function refetchUnversioned<Current>(
  db: Queryable,
  { entity, refetch, deleted }: UnversionedUpdate<Current>,
): Promise<Current> {
  const row = { kind: NO_VERSION, version: '', deleted }
  if (await recordFirstVersion(db, entity, row)) return refetch()
  const before = await lockVersion(db, entity)
  const current = await refetch()
  const isRevived = before.kind === NO_VERSION && before.deleted && isThere(current)
  // A deletion also replaces a known version: a version above the known one may still precede the
  // deletion.
  if (deleted || isRevived) await recordVersion(db, entity, row)
  return current
}

/** Whether the source still has the entity, judged by its reply. */
function isThere(current: unknown): boolean {
  return current !== undefined && current !== null
}

function compare(name: string, version: Version, before: { kind: string; version: string }): number {
  if (before.kind !== version.as) {
    throw new HookonceError(
      'VERSION_INVALID',
      `entity "${name}" has a version of kind ${before.kind}, this one is a ${version.as}: they cannot be compared`,
    )
  }
  return compareVersions(version, { as: before.kind as VersionKind, value: before.version })
}

function applied<Result>(result: Result): Latest<Result> {
  return { outcome: 'applied', result }
}

interface StaleUpdate {
  readonly name: string
  readonly version: Version
  readonly before: string
}

function stale({ name, version, before }: StaleUpdate): Latest<never> {
  return { outcome: 'stale', reason: `stale: ${name} is at ${before}, this event at ${version.value}` }
}

/**
 * The reason why an event changed nothing: newer versions of its entities were applied. Null if it
 * changed something.
 */
export function staleReason(outcomes: readonly Latest<unknown>[]): string | null {
  if (outcomes.some(({ outcome }) => outcome === 'applied')) return null
  const [first] = outcomes
  return first?.outcome === 'stale' ? first.reason : null
}
