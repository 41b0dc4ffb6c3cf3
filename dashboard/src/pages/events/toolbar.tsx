import { useRef, useState } from 'preact/hooks'
import { canOperate, explain, isAborted } from '../../api.ts'
import type { Pages } from '../../data/pages.ts'
import { useKeys } from '../../keys.ts'
import { copyText } from '../../parts/copy.tsx'
import { ReplayManyDialog } from '../../parts/replay-many.tsx'
import { RetryNowDialog } from '../../parts/retry-now.tsx'
import type { Selection } from '../../parts/selection.ts'
import { setQuery } from '../../router.ts'
import { type SearchFilter, searchOf } from '../../search/tokens.ts'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'
import type { ListedEvent } from './columns.tsx'
import { listAsCurl, MAX_EXPORTED, matchingEvents, saveJsonLines } from './export.ts'
import { type EventsQuery, replayFilterOf, retryFilterOf } from './query.ts'
import { ReplaySelected } from './replay-selected.tsx'

const words = texts.events

export interface ToolbarProps {
  readonly pages: Pages<ListedEvent>
  readonly filter: SearchFilter
  readonly query: EventsQuery
  readonly selection: Selection
  readonly active: ListedEvent | undefined
}

/** Actions on the list, or on its selected rows. */
export function Toolbar({ pages, filter, query, selection, active }: ToolbarProps) {
  const [open, setOpen] = useState<'selected' | 'all' | 'waiting'>()
  const selected = pages.items.filter(({ id }) => selection.keys.has(id))
  const chosen = selected.length > 0 ? selected : active ? [active] : []
  const plannable = replayFilterOf(filter)
  const waiting = retryFilterOf(filter)
  const mayAct = canOperate.value && pages.items.length > 0
  const mayReplayAll = mayAct && plannable !== undefined
  const mayRunNow = mayAct && waiting !== undefined
  const close = (): void => setOpen(undefined)
  useKeys([
    ...(canOperate.value
      ? [{ keys: 'r', label: words.replayKey, run: () => chosen.length > 0 && setOpen('selected') }]
      : []),
    ...(mayReplayAll ? [{ label: words.replayAll, run: () => setOpen('all') }] : []),
    ...(mayRunNow ? [{ label: texts.retryNow.button, run: () => setOpen('waiting') }] : []),
  ])
  return (
    <div class="toolbar">
      {selected.length === 0 ? (
        <>
          <span class="muted">{words.loaded(pages.items.length, pages.hasMore)}</span>
          <span class="right" />
          {mayReplayAll && (
            <button type="button" class="small" onClick={() => setOpen('all')}>
              {words.replayAll}
            </button>
          )}
          {mayRunNow && (
            <button type="button" class="small" onClick={() => setOpen('waiting')}>
              {texts.retryNow.button}
            </button>
          )}
          {pages.items.length > 0 && <Export query={query} />}
        </>
      ) : (
        <>
          <b>{words.selected(selected.length)}</b>
          <span class="right" />
          {canOperate.value && (
            <button type="button" class="small first" onClick={() => setOpen('selected')}>
              {words.replay}
            </button>
          )}
          <button type="button" class="small" onClick={() => saveJsonLines(selected)}>
            {words.jsonLines}
          </button>
          <button type="button" class="small quiet" onClick={() => selection.clear()}>
            {words.clear}
          </button>
        </>
      )}
      {open === 'selected' && <ReplaySelected events={chosen} onClose={close} onDone={pages.refresh} />}
      {open === 'waiting' && waiting && (
        <RetryNowDialog
          filter={waiting}
          what={texts.retryNow.whatAll(searchOf({ ...waiting, state: 'retrying' }))}
          onClose={close}
          onDone={pages.refresh}
        />
      )}
      {open === 'all' && plannable && (
        <ReplayManyDialog
          filter={plannable}
          what={words.allThatMatch(searchOf({ ...plannable }))}
          onClose={close}
          onStarted={({ id }) => setQuery({ replay: id })}
        />
      )}
    </div>
  )
}

function Export({ query }: { readonly query: EventsQuery }) {
  const [isBusy, setBusy] = useState(false)
  const running = useRef<AbortController>(undefined)

  async function save(): Promise<void> {
    if (isBusy) return running.current?.abort()
    running.current = new AbortController()
    setBusy(true)
    try {
      const events = await matchingEvents(query, running.current.signal)
      saveJsonLines(events)
      toast(words.saved(events.length, events.length >= MAX_EXPORTED))
    } catch (error) {
      if (!isAborted(error)) toast(explain(error), { isBad: true })
    } finally {
      setBusy(false)
    }
  }

  useKeys([
    { label: words.jsonLines, run: () => void save() },
    { label: words.curl, run: () => void copyText(listAsCurl(query), words.curlCopied) },
  ])
  return (
    <>
      <button type="button" class="small quiet" onClick={() => void save()}>
        {isBusy ? texts.cancel : words.jsonLines}
      </button>
      <button
        type="button"
        class="small quiet wide"
        onClick={() => void copyText(listAsCurl(query), words.curlCopied)}
      >
        {words.curl}
      </button>
    </>
  )
}
