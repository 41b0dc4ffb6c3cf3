import { useMemo, useState } from 'preact/hooks'

/** The selected rows of a list. Rows are selected by mouse, with shift, and by keys. */
export interface Selection {
  readonly keys: ReadonlySet<string>
  toggle(key: string): void
  /** Selects all rows from the last toggled row to this one. */
  extendTo(key: string): void
  set(keys: readonly string[]): void
  clear(): void
}

export function useSelection(order: readonly string[]): Selection {
  const [state, setState] = useState<{ keys: ReadonlySet<string>; anchor: string | undefined }>({
    keys: new Set(),
    anchor: undefined,
  })
  return useMemo(
    () => ({
      keys: state.keys,
      toggle(key) {
        setState(({ keys }) => {
          const next = new Set(keys)
          if (!next.delete(key)) next.add(key)
          return { keys: next, anchor: key }
        })
      },
      extendTo(key) {
        setState(({ keys, anchor }) => {
          const ends = [order.indexOf(anchor ?? key), order.indexOf(key)].sort((a, b) => a - b)
          const [from = -1, to = -1] = ends
          const range = from < 0 ? [key] : order.slice(from, to + 1)
          return { keys: new Set([...keys, ...range]), anchor: anchor ?? key }
        })
      },
      set: (keys) => setState({ keys: new Set(keys), anchor: undefined }),
      clear: () => setState({ keys: new Set(), anchor: undefined }),
    }),
    [state, order],
  )
}
