import type { LedgerTables } from '../ledger/ledger.ts'
import { isSet, type LedgerMember, type LedgerSet, type Ledgers } from '../ledger/ledger-set.ts'
import { readPlaces, tenantsIn } from '../ledger/places/places.ts'
import { registered } from '../ledger/read/registered.ts'
import { HookonceError } from '../model/errors.ts'
import { operatorError } from './operator-error.ts'

/*
 * Reads and changes over several ledgers. A function of this folder is written for one ledger. One
 * of these wrappers defines how it works on several:
 *
 *   everywhere   calls it on every ledger in parallel and merges the results
 *   inEvery      calls it on every ledger, and fails if one cannot be reached
 *   whereFound   finds the ledger that has the object, and calls it there
 *   whereTenant  calls it on the ledger of the tenant
 *   whereRowsOf  calls it on each ledger that may have rows of the tenant
 *   whereSource  calls it on the only ledger that has the source
 *   atHome       calls it on the home ledger
 *
 * With one ledger, each wrapper calls the function and does nothing else. A ledger that is down is
 * reported (`onUnreachable`), and the results come from the other ledgers.
 */

type InOne<Args extends readonly unknown[], Result> = (ledger: LedgerTables, ...args: Args) => Promise<Result>
type Across<Args extends readonly unknown[], Result> = (ledgers: Ledgers, ...args: Args) => Promise<Result>

/** The result of one ledger. */
export interface Answer<Result> {
  readonly ledger: string
  readonly answer: Result
}

export function everywhere<Args extends readonly unknown[], Result>(
  ask: InOne<Args, Result>,
  merge: (answers: readonly NoInfer<Result>[], args: NoInfer<Args>) => NoInfer<Result>,
): Across<Args, Result> {
  return async (ledgers, ...args) => {
    if (!isSet(ledgers)) return ask(ledgers, ...args)
    const answers = await askAll(ledgers, (tables) => ask(tables, ...args))
    return merge(
      answers.map(({ answer }) => answer),
      args,
    )
  }
}

/** If it fails, it has acted in every reachable ledger. It may be repeated. */
export function inEvery<Args extends readonly unknown[], Result>(
  act: InOne<Args, Result>,
  merge: (answers: readonly NoInfer<Result>[]) => NoInfer<Result>,
): Across<Args, Result> {
  return async (ledgers, ...args) => {
    if (!isSet(ledgers)) return act(ledgers, ...args)
    const missed: string[] = []
    const onUnreachable = (name: string, error: unknown): void => {
      if (!isUnmade(error)) missed.push(name)
    }
    const answers = await askAll({ ...ledgers, onUnreachable }, (tables) => act(tables, ...args))
    if (missed.length === 0) return merge(answers.map(({ answer }) => answer))
    const names = missed.join(', ')
    const fault = `applied to every ledger except ${names} (unreachable); run it again when ${names} can be reached`
    throw new HookonceError('LEDGER_DOWN', fault)
  }
}

/** Merges lists: all items in one order, at most `limit`. */
export function sortedBy<Item>(
  answers: readonly (readonly Item[])[],
  compare: (a: Item, b: Item) => number,
  limit = Number.POSITIVE_INFINITY,
): Item[] {
  return answers.flat().sort(compare).slice(0, limit)
}

/** An id, or the part of it that the operator gave. */
type Wanted = string | { readonly id: string }

export function whereFound<Args extends readonly [Wanted, ...unknown[]], Result>(
  find: (ledger: LedgerTables, args: NoInfer<Args>) => Promise<unknown>,
  act: InOne<Args, Result>,
): Across<Args, Result> {
  return async (ledgers, ...args) => {
    if (!isSet(ledgers)) return act(ledgers, ...args)
    const [wanted] = args
    const id = typeof wanted === 'string' ? wanted : wanted.id
    const found = await finders(ledgers, id, (tables) => find(tables, args))
    return act(await found.tables(), ...args)
  }
}

export function whereTenant<Args extends readonly unknown[], Result>(
  tenantOf: (args: NoInfer<Args>) => string | undefined,
  act: InOne<Args, Result>,
): Across<Args, Result> {
  return async (ledgers, ...args) => {
    if (!isSet(ledgers)) return act(ledgers, ...args)
    const place = await placeOf(ledgers, tenantOf(args) ?? 'default')
    return act(await place.tables(), ...args)
  }
}

/**
 * During a move and after an interrupted one, two ledgers have rows of the tenant. Only the home
 * ledger records that, so this needs it.
 */
export function whereRowsOf<Args extends readonly unknown[], Result>(
  tenantOf: (args: NoInfer<Args>) => string,
  act: InOne<Args, Result>,
  merge: (answers: readonly NoInfer<Result>[], args: NoInfer<Args>) => NoInfer<Result>,
): Across<Args, Result> {
  return async (ledgers, ...args) => {
    if (!isSet(ledgers)) return merge([await act(ledgers, ...args)], args)
    const done = new Map<LedgerMember, Result>()
    for (;;) {
      // Read again each time: a move may have begun.
      const members = await membersWithRows(ledgers, tenantOf(args))
      const next = members.find((member) => !done.has(member))
      if (!next) return merge([...done.values()], args)
      done.set(next, await act(await next.tables(), ...args))
    }
  }
}

async function membersWithRows(set: LedgerSet, tenant: string): Promise<LedgerMember[]> {
  const home = homeMember(set)
  const [place] = await readPlaces((await home.tables()).pool, [tenant])
  if (!place) return [await placeOf(set, tenant)]
  const names = [place.ledger, place.movingTo, place.movedFrom]
  return set.members.filter(({ name }) => names.includes(name))
}

/** A source, perhaps of a named tenant. */
interface SourceName {
  readonly source?: string | undefined
  readonly tenant?: string | undefined
}

export function whereSource<Args extends readonly unknown[], Result>(
  nameOf: (args: NoInfer<Args>) => SourceName,
  act: InOne<Args, Result>,
): Across<Args, Result> {
  return async (ledgers, ...args) => {
    if (!isSet(ledgers)) return act(ledgers, ...args)
    const place = await placeOfSource(ledgers, nameOf(args))
    return act(await place.tables(), ...args)
  }
}

export function atHome<Args extends readonly unknown[], Result>(
  act: InOne<Args, Result>,
): Across<Args, Result> {
  return async (ledgers, ...args) => act(await homeOf(ledgers), ...args)
}

/** The ledger that holds data of no tenant: tokens and sessions. */
export async function homeOf(ledgers: Ledgers): Promise<LedgerTables> {
  return isSet(ledgers) ? homeMember(ledgers).tables() : ledgers
}

/** The same ledgers, with another listener for those that cannot be read. */
export function reporting(ledgers: Ledgers, onUnreachable: (name: string) => void): Ledgers {
  return isSet(ledgers) ? { ...ledgers, onUnreachable } : ledgers
}

/** Calls every ledger at once. Throws if no ledger answers. */
export async function askAll<Result>(
  set: LedgerSet,
  ask: (tables: LedgerTables, name: string) => Promise<Result>,
): Promise<Answer<Result>[]> {
  const answers: Answer<Result>[] = []
  let failure: unknown
  const asked = set.members.map(async ({ name, tables }) => ({
    ledger: name,
    answer: await ask(await tables(), name),
  }))
  for (const [at, result] of (await Promise.allSettled(asked)).entries()) {
    if (result.status === 'fulfilled') answers.push(result.value)
    else {
      if (!isDown(result.reason) && !isUnmade(result.reason)) throw result.reason
      failure ??= result.reason
      set.onUnreachable?.(set.members[at]?.name ?? '', result.reason)
    }
  }
  if (answers.length === 0) throw failure
  return answers
}

/** The only ledger in which a search succeeds. */
async function finders(
  set: LedgerSet,
  id: string,
  find: (tables: LedgerTables) => Promise<unknown>,
): Promise<LedgerMember> {
  const results = await Promise.allSettled(
    set.members.map(async (member) => {
      await find(await member.tables())
      return member
    }),
  )
  const [found, another] = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  if (found && another)
    throw new HookonceError(
      'CONFIG_INVALID',
      `ids in ${found.name} and in ${another.name} begin with "${id}"; pass a longer part of the id`,
    )
  if (found) return found
  const failures = results.map((one): unknown => (one.status === 'rejected' ? one.reason : undefined))
  const down = set.members.filter((_, at) => isDown(failures[at]))
  if (down.length === 0)
    throw failures.find((one) => !isUnknown(one) && !isUnmade(one)) ?? failures.find(isUnknown) ?? failures[0]
  const names = down.map(({ name }) => name).join(', ')
  const fault = `no reachable ledger has "${id}"; unreachable: ${names}`
  throw new HookonceError('LEDGER_DOWN', fault, { cause: failures.find(isDown) })
}

/**
 * The ledger in which a tenant lives. A tenant that no ledger knows has nothing, not even in the
 * home ledger.
 */
async function placeOf(set: LedgerSet, tenant: string): Promise<LedgerMember> {
  const home = homeMember(set)
  const name = (await recordedPlace(set, home, tenant)) ?? (await knowingLedger(set, tenant))
  return set.members.find((member) => member.name === name) ?? home
}

/** Before the first process records it, a ledger of `also` has tenants without a record. */
async function knowingLedger(set: LedgerSet, tenant: string): Promise<string | undefined> {
  const answers = await askAll(set, ({ pool }) => tenantsIn(pool, [tenant]))
  return answers.find(({ answer }) => answer.length > 0)?.ledger
}

async function recordedPlace(
  set: LedgerSet,
  home: LedgerMember,
  tenant: string,
): Promise<string | undefined> {
  try {
    const [place] = await readPlaces((await home.tables()).pool, [tenant])
    return place?.ledger
  } catch (error) {
    if (!isDown(error)) throw error
    // The ledger of the tenant also records the tenant.
    const answers = await askAll(set, async ({ pool }) => readPlaces(pool, [tenant]))
    const own = answers.find(({ ledger, answer }) => answer.some((place) => place.ledger === ledger))
    if (!own) throw error
    return own.ledger
  }
}

async function placeOfSource(set: LedgerSet, { source, tenant }: SourceName): Promise<LedgerMember> {
  if (tenant !== undefined) return placeOf(set, tenant)
  const answers = await askAll(set, registered)
  const having = answers.filter(({ answer }) => answer.some((one) => (source ?? one.source) === one.source))
  const [first, another] = having
  if (first && another) {
    const subject =
      source === undefined ? 'several ledgers have sources' : `several ledgers have a source "${source}"`
    throw new HookonceError('CONFIG_INVALID', `${subject}: pass its tenant`)
  }
  return set.members.find(({ name }) => name === first?.ledger) ?? homeMember(set)
}

function homeMember(set: LedgerSet): LedgerMember {
  const [home] = set.members
  if (!home) throw new Error('the set of ledgers is empty')
  return home
}

function isUnknown(error: unknown): boolean {
  return error instanceof HookonceError && error.code.endsWith('_UNKNOWN')
}

/** The ledger is configured but not migrated yet. */
function isUnmade(error: unknown): boolean {
  return error instanceof HookonceError && error.code === 'SCHEMA_MISSING'
}

/** The ledger cannot answer now. */
const DOWN: readonly string[] = ['LEDGER_DOWN', 'DATABASE_UNREACHABLE', 'QUERY_TIMEOUT', 'OVERLOADED']

export function isDown(error: unknown): boolean {
  const told = operatorError(error)
  return told instanceof HookonceError && DOWN.includes(told.code)
}

// --- pages

/** A list of one ledger whose positions are values: the same in every ledger. */
export interface PositionedList<Item, Page, Query> {
  itemsOf(page: Page): readonly Item[]
  cursorOf(item: Item): string
  make(items: readonly Item[], ends: PageEnds): Page
  /** Below zero: the first position comes earlier in the list. */
  compare(a: string, b: string): number
  /** Positions before all items, and after all items. */
  readonly first: string
  readonly last: string
  readonly limitOf: (query: Query) => number
}

export interface PageEnds {
  readonly next: string | undefined
  readonly previous?: string | undefined
}

interface PageQuery {
  readonly after?: string | undefined
  readonly before?: string | undefined
}

/**
 * Pages of a list over several ledgers. A position is a time and an id (or another value), not a
 * row of one ledger, so one cursor is enough for all ledgers. A ledger that stopped reading at a
 * position ends the page there, because it may have further items.
 */
export function pagedEverywhere<Item, Page extends PageEnds, Query extends PageQuery>(
  ask: InOne<[Query], Page>,
  list: PositionedList<Item, Page, Query>,
): Across<[Query], Page> {
  return async (ledgers, query) => {
    if (!isSet(ledgers)) return ask(ledgers, query)
    const pages = (await askAll(ledgers, (tables) => ask(tables, query))).map(({ answer }) => answer)
    const isBack = query.before !== undefined
    const away = isBack ? -1 : 1
    const order = (a: string, b: string): number => away * list.compare(a, b)
    // The nearest position at which a ledger stopped although it has more items.
    const ends = pages.flatMap((page) => (isBack ? page.previous : page.next) ?? []).sort(order)
    const [end] = ends
    const all = pages
      .flatMap((page) => [...list.itemsOf(page)])
      .filter((item) => end === undefined || order(list.cursorOf(item), end) <= 0)
      .sort((a, b) => order(list.cursorOf(a), list.cursorOf(b)))
    const limit = list.limitOf(query)
    const shown = all.slice(0, limit)
    const last = shown.at(-1)
    const onward = all.length > limit && last !== undefined ? list.cursorOf(last) : end
    const [start] = shown
    const back = start === undefined ? (onward ?? (isBack ? list.first : list.last)) : list.cursorOf(start)
    if (isBack) return list.make(shown.reverse(), { next: back, previous: onward })
    return list.make(shown, { next: onward, previous: query.after === undefined ? undefined : back })
  }
}
