import './expand-table.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { useKeys } from '../keys.ts'
import { texts } from '../texts.ts'
import { focusedRow, focusRow } from './row-focus.ts'
import { type Column, Titles, tracks } from './table.tsx'

export interface RowVerb<Item> {
  readonly keys: string
  readonly label: string
  readonly run: (item: Item) => void
}

export interface ExpandTableProps<Item> {
  readonly label: string
  readonly columns: readonly Column<Item>[]
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** The key of the row that is open. */
  readonly openKey: string | undefined
  readonly onOpen: (key: string | undefined) => void
  /** The content below the open row. */
  readonly detail: (item: Item) => ComponentChildren
  /** Keys that act on the focused row, or on the open row. */
  readonly verbs?: readonly RowVerb<Item>[]
  /** False: another table of the page handles the keys. */
  readonly hasKeys?: boolean
}

/** A table of a few rows, one of which may be open. Keys move from row to row. */
export function ExpandTable<Item>(props: ExpandTableProps<Item>) {
  const { label, columns, items, keyOf, openKey, onOpen, detail, verbs = [], hasKeys = true } = props
  const table = useRef<HTMLDivElement>(null)
  const id = useId()
  const linked = columns.find(({ isLink }) => isLink) ?? columns[0]

  const rows = (): readonly HTMLElement[] => [
    ...(table.current?.querySelectorAll<HTMLElement>('[data-place]') ?? []),
  ]
  const focused = (): number => focusedRow(rows())
  const move = (to: number): void => focusRow(rows(), to)
  // A link may lead to a row that is further down.
  useEffect(() => {
    table.current?.querySelector('.open')?.scrollIntoView({ block: 'nearest' })
  }, [])
  function chosen(): Item | undefined {
    return items[focused()] ?? items.find((item) => keyOf(item) === openKey)
  }
  const keys = [
    { keys: 'j', label: texts.keys.down, run: () => move(focused() + 1) },
    { keys: 'k', label: texts.keys.up, run: () => move(focused() - 1) },
    { keys: 'ArrowDown', run: () => move(focused() + 1) },
    { keys: 'ArrowUp', run: () => move(focused() - 1) },
    { keys: 'Enter', label: texts.keys.open, run: () => move(focused()) },
    ...verbs.map(({ keys, label, run }) => ({
      keys,
      label,
      run: () => {
        const item = chosen()
        if (item !== undefined) run(item)
      },
    })),
  ]
  useKeys(hasKeys ? keys : [])

  return (
    <div class="table expand" role="table" aria-label={label} style={tracks(columns)} ref={table}>
      <div role="rowgroup">
        <Titles columns={columns} />
      </div>
      {items.map((item, place) => {
        const key = keyOf(item)
        const isOpen = key === openKey
        return (
          <div key={key} role="rowgroup" data-place={place} class={isOpen ? 'open' : undefined}>
            <div class="row" role="row">
              {columns.map((column) => (
                <span
                  key={column.name}
                  role="cell"
                  class={[column.align, column.shown].filter(Boolean).join(' ')}
                >
                  {column === linked ? (
                    <button
                      type="button"
                      class="cover"
                      aria-expanded={isOpen}
                      aria-controls={isOpen ? `${id}-${place}` : undefined}
                      onClick={() => onOpen(isOpen ? undefined : key)}
                    >
                      {column.cell(item)}
                    </button>
                  ) : (
                    column.cell(item)
                  )}
                </span>
              ))}
            </div>
            {isOpen && (
              <div class="row-detail" role="row" id={`${id}-${place}`}>
                <div role="cell">{detail(item)}</div>
              </div>
            )}
          </div>
        )
      })}
    </div>
  )
}

/** Facts in an open row: a name and a value, line by line. */
export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>
}

export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
