import { Component, type ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ListPosition } from '../data/kept-list.ts'
import { useKeys } from '../keys.ts'
import { navigate } from '../router.ts'
import { texts } from '../texts.ts'
import type { Selection } from './selection.ts'
import { Cells, type Column, Titles, tracks } from './table.tsx'
import { ROW_PX, useSteady, useVirtualRows } from './virtual-rows.ts'

/** The next page is read when fewer rows than this remain below. */
const READ_AHEAD = 60

export interface VirtualTableProps<Item> {
  readonly label: string
  readonly columns: readonly Column<Item>[]
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  readonly hrefOf: (item: Item) => string
  /** Called near the end of the list. May be called often. */
  readonly onEnd?: () => void
  /** Called when the list is scrolled to its top, or away from it. */
  readonly onTop?: (isAtTop: boolean) => void
  /** The content below the last row, such as "all read". */
  readonly end?: ComponentChildren
  readonly selection?: Selection
  /** Called when the row under the keyboard changes. */
  readonly onActive?: (item: Item | undefined) => void
  /** The position at which the list begins. It is updated while the user scrolls. */
  readonly position?: ListPosition
}

/** A list of any length: only the visible rows are in the page. Keys move through it. */
export function VirtualTable<Item>(props: VirtualTableProps<Item>) {
  const { label, items, keyOf, hrefOf, onEnd, end, selection, onActive, onTop, position } = props
  const columns = useMemo(
    () => (selection ? [pickColumn(selection, keyOf), ...props.columns] : props.columns),
    [props.columns, selection?.keys],
  )
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useVirtualRows(scroller, items.length, position?.top)
  const [activeKey, setActiveKey] = useState(position?.activeKey)
  if (position) Object.assign(position, { top: rows.offset, activeKey })
  const active = activeKey === undefined ? -1 : items.findIndex((item) => keyOf(item) === activeKey)

  useSteady(scroller, items, keyOf)
  const isAtTop = rows.offset < ROW_PX
  useEffect(() => onTop?.(isAtTop), [isAtTop])

  const last = rows.items.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= items.length - READ_AHEAD) onEnd?.()
  }, [last, items.length, onEnd])

  function move(to: number): Item | undefined {
    const index = Math.max(0, Math.min(items.length - 1, to))
    const item = items[index]
    if (item === undefined) return undefined
    setActiveKey(keyOf(item))
    onActive?.(item)
    rows.show(index)
    return item
  }
  function extend(to: number): void {
    const from = items[active]
    if (from !== undefined && selection && !selection.keys.has(keyOf(from))) selection.toggle(keyOf(from))
    const item = move(to)
    if (item !== undefined) selection?.extendTo(keyOf(item))
  }
  function toggle(): void {
    const item = items[active]
    if (item !== undefined) selection?.toggle(keyOf(item))
  }
  function open(): void {
    const item = items[active]
    if (item !== undefined) navigate(hrefOf(item))
  }

  useKeys([
    { keys: 'j', label: texts.keys.down, run: () => void move(active + 1) },
    { keys: 'k', label: texts.keys.up, run: () => void move(active - 1) },
    { keys: 'ArrowDown', run: () => void move(active + 1) },
    { keys: 'ArrowUp', run: () => void move(active - 1) },
    { keys: 'PageDown', run: () => void move(active + 20) },
    { keys: 'PageUp', run: () => void move(active - 20) },
    { keys: 'Home', run: () => void move(0) },
    { keys: 'End', run: () => void move(items.length - 1) },
    { keys: 'Enter', label: texts.keys.open, run: open },
    ...(selection
      ? [
          { keys: 'x', label: texts.keys.select, run: toggle },
          { keys: 'shift+j', label: texts.keys.extend, run: () => extend(active + 1) },
          { keys: 'shift+k', run: () => extend(active - 1) },
          { keys: 'shift+ArrowDown', run: () => extend(active + 1) },
          { keys: 'shift+ArrowUp', run: () => extend(active - 1) },
          { keys: 'mod+a', label: texts.keys.selectAll, run: () => selection.set(items.map(keyOf)) },
          { keys: 'Escape', label: texts.keys.unselect, run: () => selection.clear() },
        ]
      : []),
  ])

  function press(event: MouseEvent, index: number): void {
    const item = items[index]
    if (item === undefined) return
    const key = keyOf(item)
    setActiveKey(key)
    onActive?.(item)
    if (selection && (event.shiftKey || event.metaKey || event.ctrlKey)) {
      event.preventDefault()
      if (event.shiftKey) selection.extendTo(key)
      else selection.toggle(key)
      return
    }
    // A click beside the link, such as on a time.
    if (event.target instanceof Element && !event.target.closest('a, button')) navigate(hrefOf(item))
  }
  // One function for all rows and renders, so that unchanged rows are not rendered again.
  const latestPress = useRef(press)
  latestPress.current = press
  const [pressed] = useState(() => (event: MouseEvent, index: number) => latestPress.current(event, index))

  const endHeight = end === undefined ? 0 : ROW_PX
  return (
    <div class="virtual-card card">
      <div
        class={selection && selection.keys.size > 0 ? 'table virtual picking' : 'table virtual'}
        ref={scroller}
        role="grid"
        tabIndex={0}
        aria-label={label}
        aria-rowcount={items.length + 1}
        aria-multiselectable={selection !== undefined}
        aria-activedescendant={activeKey === undefined ? undefined : rowId(activeKey)}
        style={tracks(columns)}
      >
        <Titles columns={columns} />
        <div class="inner" role="rowgroup" style={{ height: `${rows.height + endHeight}px` }}>
          {rows.items.map(({ index, start }) => {
            const item = items[index]
            if (item === undefined) return null
            const key = keyOf(item)
            return (
              <Row
                key={key}
                id={rowId(key)}
                item={item}
                columns={columns}
                index={index}
                start={start}
                isActive={index === active}
                isSelected={selection?.keys.has(key)}
                href={hrefOf(item)}
                onPress={pressed}
              />
            )
          })}
          {end !== undefined && (
            <div class="virtual-end" role="row" style={{ top: `${rows.height}px` }}>
              <span role="gridcell">{end}</span>
            </div>
          )}
        </div>
      </div>
    </div>
  )
}

interface RowProps<Item> {
  readonly id: string
  readonly item: Item
  readonly columns: readonly Column<Item>[]
  readonly index: number
  readonly start: number
  readonly isActive: boolean
  readonly isSelected: boolean | undefined
  readonly href: string
  readonly onPress: (event: MouseEvent, index: number) => void
}

/** Renders again only if one of its properties has changed, so that scrolling stays smooth. */
class Row<Item> extends Component<RowProps<Item>> {
  override shouldComponentUpdate(next: Readonly<RowProps<Item>>): boolean {
    const names = Object.keys(next) as (keyof RowProps<Item>)[]
    return names.some((name) => next[name] !== this.props[name])
  }

  override render() {
    const { id, item, columns, index, start, isActive, isSelected, href, onPress } = this.props
    return (
      <div
        id={id}
        class={isActive ? 'row active' : 'row'}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={isSelected}
        style={{ transform: `translateY(${start}px)` }}
        onClick={(event) => onPress(event, index)}
      >
        <Cells columns={columns} item={item} href={href} role="gridcell" />
      </div>
    )
  }
}

/** Selects a row by mouse or touch. With shift, also all rows since the last selected one. */
function pickColumn<Item>(selection: Selection, keyOf: (item: Item) => string): Column<Item> {
  return {
    name: 'pick',
    title: texts.keys.select,
    isTitleHidden: true,
    width: '14px',
    cell: (item) => (
      <input
        type="checkbox"
        class="pick"
        tabIndex={-1}
        aria-label={texts.keys.select}
        checked={selection.keys.has(keyOf(item))}
        onClick={(event) => {
          event.stopPropagation()
          if (event.shiftKey) selection.extendTo(keyOf(item))
          else selection.toggle(keyOf(item))
        }}
      />
    ),
  }
}

function rowId(key: string): string {
  return `row-${key}`
}
