/* How the newest page of a list meets what was read before. */

export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next: string | null
}

export interface Listed<Item> {
  readonly items: readonly Item[]
  /** Undefined: nothing was read yet. */
  readonly next: string | null | undefined
}

/** The newest page before the older items. If they do not meet, the list begins with the page. */
export function merged<Item>(
  { items, next }: Listed<Item>,
  page: Page<Item>,
  keyOf: (item: Item) => string,
): Listed<Item> {
  if (page.next === null) return { items: page.data, next: null }
  const last = page.data.at(-1)
  // The API looked through a part of the history, and nothing in it matched: what is there is
  // older.
  if (last === undefined) return { items, next: next === undefined ? page.next : next }
  const seam = items.findIndex((item) => keyOf(item) === keyOf(last))
  if (seam < 0) return { items: page.data, next: page.next }
  return { items: [...page.data, ...items.slice(seam + 1)], next }
}
