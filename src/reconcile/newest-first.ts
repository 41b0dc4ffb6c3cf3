import { HookonceError } from '../model/errors.ts'

interface Page<Item> {
  readonly items: readonly Item[]
  /** The start of the next, older page. Undefined: this page is the last of the window. */
  readonly next: string | undefined
}

/**
 * Reads a list that begins with the newest item, and returns the oldest page first: ordered
 * subscribers must get events in the order in which they occurred. The first pass remembers only
 * where each page begins. The second pass reads each page again, from the oldest. New items do not
 * move a cursor.
 */
export async function* oldestFirst<Item>(
  readPage: (cursor: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<readonly Item[]> {
  const cursors = new Set<string | undefined>([undefined])
  let page = await readPage(undefined)
  while (page.next !== undefined) {
    requireProgress(!cursors.has(page.next), page.next)
    cursors.add(page.next)
    page = await readPage(page.next)
  }
  yield page.items.toReversed()
  for (const cursor of [...cursors].slice(0, -1).reverse()) yield (await readPage(cursor)).items.toReversed()
}

/** A list that returns to an earlier page would never end. */
export function requireProgress(isNew: boolean, cursor: string): void {
  if (isNew) return
  throw new HookonceError('PROVIDER_API_FAILED', `the list leads back to its page "${cursor}"`)
}
