/* Merges the newest page of a list with the items that were read before. */

export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next: string | null
}

export interface Listed<Item> {
  readonly items: readonly Item[]
  /** Undefined: nothing was read yet. */
  readonly next: string | null | undefined
}

/**
 * Puts the newest page before the older items. If there may be a gap between them, the older items
 * are dropped.
 */
export function merged<Item>(
  { items, next }: Listed<Item>,
  page: Page<Item>,
  keyOf: (item: Item) => string,
): Listed<Item> {
  if (page.next === null) return { items: page.data, next: null }
  const last = page.data.at(-1)
  // The API searched a part of the history without a match: all older items stay.
  if (last === undefined) return { items, next: next === undefined ? page.next : next }
  const seam = items.findIndex((item) => keyOf(item) === keyOf(last))
  if (seam < 0) return { items: page.data, next: page.next }
  // An item from below the seam may have moved into the new page. It must not be listed twice.
  const moved = new Set(page.data.map(keyOf))
  const rest = items.slice(seam + 1).filter((item) => !moved.has(keyOf(item)))
  return { items: [...page.data, ...rest], next }
}
