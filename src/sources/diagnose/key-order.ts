/*
 * Parsers ignore the order of names in JSON, but a signature depends on it. Software that parses a
 * body and serialises it again may sort the names, or store them in a map with its own order.
 */

/**
 * Up to this many names, every order is tried. Above it, only orders in which one name was moved.
 */
const MAX_PERMUTED = 4
const MAX_MOVED = 10

type Order = (one: string, other: string) => number

const ORDERS: readonly { readonly how: string; readonly order: Order }[] = [
  { how: 'alphabetical order', order: (one, other) => (one < other ? -1 : one > other ? 1 : 0) },
  {
    how: "the order of PostgreSQL's jsonb (by length, then by letters)",
    order: (one, other) =>
      Buffer.byteLength(one) - Buffer.byteLength(other) || (one < other ? -1 : one > other ? 1 : 0),
  },
]

/**
 * The same payload with its names in other orders, the likeliest first. The payload must not be
 * deeply nested.
 */
export function* otherOrders(payload: object): Iterable<object> {
  for (const { order } of ORDERS) yield sorted(payload, order) as object
  if (Array.isArray(payload)) return
  const entries = Object.entries(payload)
  if (entries.length > 1 && entries.length <= MAX_PERMUTED)
    for (const permuted of permutations(entries)) yield Object.fromEntries(permuted)
  else if (entries.length <= MAX_MOVED)
    for (const moved of movedOnce(entries)) yield Object.fromEntries(moved)
  yield Object.fromEntries(entries.toReversed())
}

/** The order of all names, if senders rarely choose that order. Needs at least five names. */
export function orderOf(payload: object): string | undefined {
  const objects = objectsIn(payload).map((object) => Object.keys(object))
  if (!objects.some((names) => names.length >= MIN_NAMES)) return undefined
  return ORDERS.find(({ order }) =>
    objects.every((names) => names.every((name, at) => at === 0 || order(names[at - 1] ?? '', name) <= 0)),
  )?.how
}

// Five names are in a given order by chance once in 120 times.
const MIN_NAMES = 5

function objectsIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.values(value).flatMap(objectsIn)
  return Array.isArray(value) ? inside : [value, ...inside]
}

function sorted(value: unknown, order: Order): unknown {
  if (Array.isArray(value)) return value.map((item) => sorted(item, order))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => order(one, other))
      .map(([name, inside]) => [name, sorted(inside, order)]),
  )
}

function* permutations<Item>(items: readonly Item[]): Iterable<Item[]> {
  if (items.length < 2) return void (yield [...items])
  for (const [at, first] of items.entries())
    for (const rest of permutations(items.toSpliced(at, 1))) yield [first, ...rest]
}

/** Moves the first or the last item to every other position. */
function* movedOnce<Item>(items: readonly Item[]): Iterable<Item[]> {
  const [first, last] = [items.slice(0, 1), items.slice(-1)]
  for (let at = 1; at < items.length; at += 1) {
    yield items.slice(1).toSpliced(at, 0, ...first)
    yield items.slice(0, -1).toSpliced(at - 1, 0, ...last)
  }
}
