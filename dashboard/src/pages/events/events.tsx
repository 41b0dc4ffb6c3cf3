import './events.css'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { client } from '../../api.ts'
import { keepList, keptList, type ListPosition } from '../../data/kept-list.ts'
import { onChange } from '../../data/live.ts'
import type { Listed } from '../../data/merge-pages.ts'
import { type Pages, usePages } from '../../data/pages.ts'
import { Empty, Failure, Skeleton } from '../../parts/feedback.tsx'
import { ReplayProgress } from '../../parts/replay-many.tsx'
import { useSelection } from '../../parts/selection.ts'
import { VirtualTable } from '../../parts/virtual-table.tsx'
import { href, queryValue, setQuery } from '../../router.ts'
import { noteTypes } from '../../search/known-values.ts'
import { filterOf } from '../../search/tokens.ts'
import { texts } from '../../texts.ts'
import { columns, type ListedEvent } from './columns.tsx'
import { FirstEvent } from './first-event.tsx'
import { type EventsQuery, queryOf } from './query.ts'
import { Toolbar } from './toolbar.tsx'

const words = texts.events
/** Enough rows to fill a screen. The second page follows when it is shown. */
const FIRST_PAGE = 40
const PAGE = 100
const REFRESH_MS = 1_000

export default function Events() {
  const wanted = queryValue('q')
  const { search, first } = useShownSearch(wanted)
  // Each search gets a new component, so no state of the previous search remains.
  return <EventList key={search} search={search} first={first} isOutdated={search !== wanted} />
}

interface ShownSearch {
  readonly search: string
  /** The first page, if it was read before the search is shown. */
  readonly first: Listed<ListedEvent> | undefined
}

/** The rows of the previous search stay until the first page of the next search is there. */
function useShownSearch(wanted: string): ShownSearch {
  const [shown, setShown] = useState<ShownSearch>({ search: wanted, first: undefined })
  // Not useEffect, which would wait for the next frame before it reads.
  useLayoutEffect(() => {
    if (wanted === shown.search) return
    const reading = new AbortController()
    const show = (first?: Listed<ListedEvent>): void => {
      if (!reading.signal.aborted) setShown({ search: wanted, first })
    }
    readPage(queryOf(filterOf(wanted)), undefined, reading.signal).then(
      ({ data, next }) => show(data.length > 0 ? { items: data, next } : undefined),
      // The list reads the page again, and shows the error.
      () => show(),
    )
    return () => reading.abort()
  }, [wanted])
  return shown
}

interface EventListProps extends ShownSearch {
  readonly isOutdated: boolean
}

function EventList({ search, first, isOutdated }: EventListProps) {
  const filter = useMemo(() => filterOf(search), [search])
  const query = useMemo(() => queryOf(filter), [filter])
  const [kept] = useState(() => keptList<ListedEvent>(search))
  const position = useRef<ListPosition>(kept?.position ?? { top: 0, activeKey: undefined })
  const [isAtTop, setAtTop] = useState(position.current.top === 0)
  const pages = useEvents(query, { isAtTop, initial: kept?.listed ?? first })
  keepList({ name: search, listed: pages.listed, position: position.current })
  const { items, isFirstLoading, error } = pages
  const order = useMemo(() => items.map(({ id }) => id), [items])
  const selection = useSelection(order)
  const [active, setActive] = useState(items.find(({ id }) => id === position.current.activeKey))
  const hasNew = useNews(!isAtTop)
  const wasAway = useRef(kept !== undefined)
  useEffect(() => {
    if (isAtTop && wasAway.current) pages.refresh()
    wasAway.current = !isAtTop
  }, [isAtTop])
  const replayId = queryValue('replay')
  useEffect(() => noteTypes([...new Set(items.map(({ eventType }) => eventType))]), [items])

  return (
    <>
      <h1 class="hidden">{texts.pages.events}</h1>
      {replayId !== '' && <ReplayProgress id={replayId} onClose={() => setQuery({ replay: '' })} />}
      <Toolbar pages={pages} filter={filter} query={query} selection={selection} active={active} />
      {items.length > 0 && (
        <div class={isOutdated ? 'list outdated' : 'list'} aria-busy={isOutdated}>
          {hasNew && (
            <button
              type="button"
              class="news first"
              onClick={() => document.querySelector('.virtual')?.scrollTo({ top: 0 })}
            >
              {words.news}
            </button>
          )}
          <VirtualTable
            label={texts.pages.events}
            columns={columns}
            items={items}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => href(`/events/${id}`)}
            onEnd={pages.more}
            onTop={setAtTop}
            end={<End pages={pages} />}
            selection={selection}
            onActive={setActive}
            position={position.current}
          />
        </div>
      )}
      {items.length === 0 && (
        <div class="card">
          {error !== undefined ? (
            <Failure error={error} onRetry={pages.reload} />
          ) : isFirstLoading || isOutdated ? (
            <Skeleton rows={14} />
          ) : (
            <Nothing pages={pages} isSearch={search.trim() !== ''} />
          )}
        </div>
      )}
    </>
  )
}

interface EventsOptions {
  readonly isAtTop: boolean
  readonly initial: Listed<ListedEvent> | undefined
}

function useEvents(query: EventsQuery, { isAtTop, initial }: EventsOptions): Pages<ListedEvent> {
  return usePages(
    (cursor, signal) => readPage(query, cursor, signal),
    [query],
    // A list that is scrolled down is not updated, because its rows would move.
    { keyOf: ({ id }) => id, initial, ...(isAtTop ? { refreshMs: REFRESH_MS } : {}) },
  )
}

function readPage(query: EventsQuery, cursor: string | undefined, signal: AbortSignal) {
  const page = cursor === undefined ? { limit: FIRST_PAGE } : { limit: PAGE, cursor }
  return client.get('/events', { query: { ...query, ...page }, signal })
}

/** Whether events were recorded since the list stopped following. */
function useNews(isHeld: boolean): boolean {
  const [hasNew, setNew] = useState(false)
  useEffect(() => {
    setNew(false)
    if (!isHeld) return
    return onChange((changes) => {
      if (changes.some(({ type }) => type === 'recorded')) setNew(true)
    })
  }, [isHeld])
  return hasNew
}

function End({ pages }: { readonly pages: Pages<ListedEvent> }) {
  const { isLoading, hasMore, error, items } = pages
  if (error !== undefined)
    return (
      <button type="button" class="small" onClick={pages.more}>
        {texts.errors.retry}
      </button>
    )
  if (isLoading) return <>{texts.loading}</>
  if (!hasMore) return <>{words.end(items.length)}</>
  // The last pages were empty, because few events match.
  return (
    <button type="button" class="small" onClick={pages.more}>
      {words.lookFurther}
    </button>
  )
}

function Nothing({ pages, isSearch }: { readonly pages: Pages<ListedEvent>; readonly isSearch: boolean }) {
  if (!isSearch) return <FirstEvent />
  return (
    <Empty title={words.none}>
      {words.noneHint}
      {pages.hasMore && (
        <>
          {' '}
          <button type="button" class="small" onClick={pages.more} disabled={pages.isLoading}>
            {words.lookFurther}
          </button>
        </>
      )}
    </Empty>
  )
}
