import type { ComponentChildren } from 'preact'
import { useKeys } from '../keys.ts'
import { texts } from '../texts.ts'
import { focusedRow, focusRow } from './row-focus.ts'

export interface Column<Item> {
  readonly name: string
  readonly title: string
  /** The title is for screen readers only. */
  readonly isTitleHidden?: boolean
  /** The width of its track in the grid: `90px`, `1fr`, `minmax(0, 2fr)`. */
  readonly width: string
  readonly align?: 'end'
  /** `wide`: hidden on a phone. `widest`: only in a wide window. */
  readonly shown?: 'wide' | 'widest'
  /** The text of this column is the link of the row. The default is the first column. */
  readonly isLink?: boolean
  readonly cell: (item: Item) => ComponentChildren
}

/** The tracks of the columns at each width of the window. */
export function tracks<Item>(columns: readonly Column<Item>[]): Record<string, string> {
  const of = (kept: readonly Column<Item>[]): string => kept.map(({ width }) => width).join(' ')
  return {
    '--columns-wide': of(columns),
    '--columns-middle': of(columns.filter(({ shown }) => shown !== 'widest')),
    '--columns-narrow': of(columns.filter(({ shown }) => shown === undefined)),
  }
}

function cellClass({ align, shown }: Pick<Column<never>, 'align' | 'shown'>): string {
  return [align, shown].filter(Boolean).join(' ')
}

export interface TableProps<Item> {
  readonly label: string
  readonly columns: readonly Column<Item>[]
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** The target of a click on a row. */
  readonly hrefOf?: (item: Item) => string | undefined
}

/** The rows of all such tables of the page: keys move through one table into the next. */
function rowsOfPage(): readonly HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('main .row[tabindex]')]
}

function moveBy(rows: number): void {
  const all = rowsOfPage()
  focusRow(all, focusedRow(all) + rows)
}

/** A table of few rows. For long lists, use VirtualTable. Keys move from row to row. */
export function Table<Item>({ label, columns, items, keyOf, hrefOf }: TableProps<Item>) {
  useKeys([
    { keys: 'j', label: texts.keys.down, run: () => moveBy(1) },
    { keys: 'k', label: texts.keys.up, run: () => moveBy(-1) },
    // With the focus in a row, the browser follows its link or presses its button.
    { keys: 'Enter', label: texts.keys.open, run: () => moveBy(0) },
  ])
  return (
    <div class="table" role="table" aria-label={label} style={tracks(columns)}>
      <Titles columns={columns} />
      {items.map((item) => (
        <div key={keyOf(item)} class="row" role="row" tabIndex={-1}>
          <Cells columns={columns} item={item} href={hrefOf?.(item)} role="cell" />
        </div>
      ))}
    </div>
  )
}

export interface CellsProps<Item> {
  readonly columns: readonly Column<Item>[]
  readonly item: Item
  /** The link of one cell covers the whole row. */
  readonly href: string | undefined
  readonly role: 'cell' | 'gridcell'
}

export function Cells<Item>({ columns, item, href, role }: CellsProps<Item>) {
  const linked = columns.find(({ isLink }) => isLink) ?? columns.find(({ name }) => name !== 'pick')
  return (
    <>
      {columns.map((column) => (
        <span key={column.name} role={role} class={cellClass(column)}>
          {column === linked && href !== undefined ? (
            <a class="cover" href={href} tabIndex={role === 'gridcell' ? -1 : undefined}>
              {column.cell(item)}
            </a>
          ) : (
            column.cell(item)
          )}
        </span>
      ))}
    </>
  )
}

export function Titles<Item>({ columns }: { readonly columns: readonly Column<Item>[] }) {
  return (
    <div class="row titles" role="row">
      {columns.map((column) => (
        <span
          key={column.name}
          // A column of buttons has no title.
          role={column.title === '' ? 'cell' : 'columnheader'}
          class={cellClass(column)}
        >
          {column.isTitleHidden ? <span class="hidden">{column.title}</span> : column.title}
        </span>
      ))}
    </div>
  )
}
