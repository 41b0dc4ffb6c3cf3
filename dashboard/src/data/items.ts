import { useState } from 'preact/hooks'
import { type Resource, type ResourceOptions, useResource } from './resource.ts'

/*
 * Lists that are usually short, and are read again as a whole after each change. A list that is
 * longer than a page has a button for more.
 */

/** The maximum of the API, so a short list is one request. */
export const PAGE = 200

export interface Items<Item> extends Omit<Resource<readonly Item[]>, 'isLoading'> {
  readonly hasMore: boolean
  /** True while more items are being read, but not while the shown ones are read again. */
  readonly isLoading: boolean
  more(): void
}

/** `read` returns the whole list, page by page: `client.items(path, { query: { limit: PAGE } })`. */
export function useItems<Item>(
  read: (signal: AbortSignal) => AsyncIterable<Item>,
  deps: readonly unknown[] = [],
  options: ResourceOptions = {},
): Items<Item> {
  const [most, setMost] = useState(PAGE)
  const { data, error, reload } = useResource(
    async (signal) => ({ ...(await firstOf(read(signal), most)), most }),
    [most, ...deps],
    options,
  )
  return {
    data: data?.items,
    error,
    reload,
    hasMore: data?.hasMore ?? false,
    isLoading: data !== undefined && data.most < most && error === undefined,
    more: () => setMost((data?.most ?? most) + PAGE),
  }
}

/** The first items, and whether there are more. */
export async function firstOf<Item>(
  items: AsyncIterable<Item>,
  most: number,
): Promise<{ readonly items: readonly Item[]; readonly hasMore: boolean }> {
  const found: Item[] = []
  for await (const item of items) {
    if (found.length >= most) return { items: found, hasMore: true }
    found.push(item)
  }
  return { items: found, hasMore: false }
}
