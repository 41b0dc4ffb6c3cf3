import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/* The rows of a long list that are in view. */

/** The height of a row. The CSS variable --row has the same value. */
export const ROW_PX = 34
const OVERSCAN = 8
/** The size of the list that was in view last. The next list most likely has the same size. */
let lastRect = { width: window.innerWidth, height: window.innerHeight }

/** Keeps the visible rows in place when new rows are inserted above them. */
export function useSteady<Item>(
  scroller: { readonly current: HTMLDivElement | null },
  items: readonly Item[],
  keyOf: (item: Item) => string,
): void {
  const first = useRef<string>(undefined)
  useLayoutEffect(() => {
    const before = first.current
    const [item] = items
    first.current = item === undefined ? undefined : keyOf(item)
    const element = scroller.current
    if (before === undefined || before === first.current || !element || element.scrollTop === 0) return
    const moved = items.findIndex((one) => keyOf(one) === before)
    if (moved > 0) element.scrollTop += moved * ROW_PX
  }, [items])
}

export interface VirtualRows {
  readonly items: readonly { readonly index: number; readonly start: number }[]
  readonly height: number
  /** The scroll position, in pixels. */
  readonly offset: number
  show(index: number): void
}

export function useVirtualRows(
  scroller: { readonly current: HTMLDivElement | null },
  count: number,
  initialOffset = 0,
): VirtualRows {
  const [, setVersion] = useState(0)
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    initialOffset,
    // The rows are then rendered at once, before the height of the list is measured.
    initialRect: lastRect,
    // The header row stays at the top.
    scrollPaddingEnd: ROW_PX,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => setVersion((version) => version + 1),
  }
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options))
  virtualizer.setOptions(options)
  useLayoutEffect(() => virtualizer._didMount(), [])
  useLayoutEffect(() => virtualizer._willUpdate())
  lastRect = virtualizer.scrollRect ?? lastRect
  return {
    items: virtualizer.getVirtualItems(),
    height: virtualizer.getTotalSize(),
    offset: virtualizer.scrollOffset ?? initialOffset,
    show: (index) => virtualizer.scrollToIndex(index),
  }
}
