import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { isAborted } from '../api.ts'
import { type Listed, merged, type Page } from './merge-pages.ts'
import { useRefresh } from './refresh.ts'

/* Lists that the API returns page by page. */

export interface Pages<Item> {
  readonly items: readonly Item[]
  /** The items and cursors so far, for `initial` of a later list. */
  readonly listed: Listed<Item>
  /** True until the first page has arrived. */
  readonly isFirstLoading: boolean
  readonly isLoading: boolean
  readonly hasMore: boolean
  readonly error: unknown
  /** Reads the next page. Does nothing during a read or after the last page. */
  more(): void
  /** Drops all items and reads the first page. */
  reload(): void
  /** Reads the first page again, and puts new items before the known ones. */
  refresh(): void
}

export interface PagesOptions<Item> {
  readonly keyOf: (item: Item) => string
  /** How often the list may read its first page again after changes. */
  readonly refreshMs?: number
  /**
   * How often the list reads its first page again. For lists whose changes are not in the stream.
   */
  readonly pollMs?: number
  /**
   * Items and cursors that were read before. The list begins with them, and reads nothing at first.
   */
  readonly initial?: Listed<Item> | undefined
}

/**
 * With a filter that few items match, pages may be empty although there are more. After this many
 * empty pages in a row, the user must request more.
 */
const EMPTY_IN_A_ROW = 5
/** More items than a person scrolls through. They are all in memory. */
const MAX_ITEMS = 100_000

interface State<Item> {
  readonly items: readonly Item[]
  readonly next: string | null | undefined
  readonly isLoading: boolean
  readonly error: unknown
}

export function usePages<Item>(
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  deps: readonly unknown[],
  { keyOf, refreshMs, pollMs, initial }: PagesOptions<Item>,
): Pages<Item> {
  const empty: State<Item> = { items: [], next: undefined, isLoading: true, error: undefined }
  const [state, setState] = useState<State<Item>>(
    initial ? { ...empty, ...initial, isLoading: false } : empty,
  )
  const isInitial = useRef(initial !== undefined)
  const held = useRef(state)
  held.current = state
  const latest = useRef(load)
  latest.current = load
  const current = useRef(new AbortController())
  const isBusy = useRef(false)
  /** Whether something changed during a read. */
  const isStale = useRef(false)
  const isRefreshing = useRef(false)
  /** The end of the list came into view during a refresh. */
  const isMoreWanted = useRef(false)

  const put = useCallback((next: State<Item>) => {
    held.current = next
    setState(next)
  }, [])

  /** Runs one read at a time. Discards the result of a read that a newer `reload` replaced. */
  const read = useCallback(async (run: (signal: AbortSignal) => Promise<void>) => {
    if (isBusy.current) return
    isBusy.current = true
    const { signal } = current.current
    try {
      await run(signal)
    } catch (error) {
      if (!signal.aborted && !isAborted(error)) put({ ...held.current, isLoading: false, error })
    } finally {
      if (!signal.aborted) isBusy.current = false
    }
    if (signal.aborted) return
    if (isMoreWanted.current) more()
    else if (isStale.current) refresh()
  }, [])

  const more = useCallback(() => {
    const { next, items } = held.current
    isMoreWanted.current = isRefreshing.current
    if (next === null || items.length >= MAX_ITEMS) return
    void read(async (signal) => {
      put({ ...held.current, isLoading: true, error: undefined })
      let cursor: string | null | undefined = next
      for (let reads = 0; reads < EMPTY_IN_A_ROW && cursor !== null; reads += 1) {
        const page = await latest.current(cursor, signal)
        if (signal.aborted) return
        cursor = page.next
        if (page.data.length > 0) {
          put({ ...held.current, items: [...held.current.items, ...page.data], next: cursor })
          break
        }
      }
      put({ ...held.current, next: cursor, isLoading: false })
    })
  }, [])

  const reload = useCallback(() => {
    current.current.abort()
    current.current = new AbortController()
    isBusy.current = false
    isRefreshing.current = false
    put({ ...empty, items: [] })
    more()
  }, [])

  const refresh = useCallback(() => {
    isStale.current = isBusy.current
    if (isBusy.current) return
    isRefreshing.current = true
    void read(async (signal) => {
      try {
        const page = await latest.current(undefined, signal)
        if (!signal.aborted) put({ ...held.current, ...merged(held.current, page, keyOf), error: undefined })
      } finally {
        if (!signal.aborted) isRefreshing.current = false
      }
    })
  }, [])

  useEffect(() => {
    if (!isInitial.current) reload()
    isInitial.current = false
    return () => current.current.abort()
  }, [...deps])
  useRefresh(refresh, refreshMs)
  useEffect(() => {
    if (pollMs === undefined) return
    const timer = setInterval(refresh, pollMs)
    return () => clearInterval(timer)
  }, [pollMs])

  const { items, next, isLoading, error } = state
  const hasMore = next !== null && items.length < MAX_ITEMS
  return {
    items,
    listed: state,
    isLoading,
    hasMore,
    error,
    more,
    reload,
    refresh,
    isFirstLoading: isLoading && items.length === 0,
  }
}
