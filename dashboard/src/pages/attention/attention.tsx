import './attention.css'
import { useState } from 'preact/hooks'
import { canOperate, client } from '../../api.ts'
import { usePages } from '../../data/pages.ts'
import { ExpandTable } from '../../parts/expand-table.tsx'
import { Empty, Failure, Skeleton } from '../../parts/feedback.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { queryValue, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Decide, type UnknownEffect, type Verb, verbs } from './decide.tsx'
import { Effect } from './effect.tsx'
import { keyOfEffect } from './effect-key.ts'

const words = texts.attention

/** Effects whose outcome is unknown: the facts about each, and the four decisions. */
export default function Attention() {
  const pages = usePages(
    (cursor, signal) =>
      client.get('/attention', { query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) }, signal }),
    [],
    { keyOf: keyOfEffect, refreshMs: 3_000 },
  )
  const [decided, setDecided] = useState<{ effect: UnknownEffect; verb: Verb }>()
  const { items, isFirstLoading, error } = pages
  const asked = queryValue('effect')
  // The oldest effect has waited longest, so it is open until the user opens another.
  const openKey = asked === '-' ? undefined : asked || (items[0] && keyOfEffect(items[0]))

  return (
    <>
      <div class="head">
        <h1>{texts.pages.attention}</h1>
        {items.length > 0 && <span class="muted">{words.intro}</span>}
      </div>
      <div class="card">
        {items.length === 0 && isFirstLoading && <Skeleton rows={6} />}
        {items.length === 0 && error !== undefined && <Failure error={error} onRetry={pages.reload} />}
        {items.length === 0 && !isFirstLoading && error === undefined && (
          <Empty title={words.none} command={words.noneCommand}>
            {words.noneHint}
          </Empty>
        )}
        {items.length > 0 && (
          <ExpandTable
            label={texts.pages.attention}
            columns={columns}
            items={items}
            keyOf={keyOfEffect}
            openKey={openKey}
            onOpen={(key) => setQuery({ effect: key ?? '-' })}
            detail={(effect) => <Effect effect={effect} onDecide={(verb) => setDecided({ effect, verb })} />}
            verbs={
              canOperate.value
                ? verbs.map((verb) => ({
                    keys: words.verbs[verb].key,
                    label: words.verbs[verb].title,
                    run: (effect: UnknownEffect) => setDecided({ effect, verb }),
                  }))
                : []
            }
          />
        )}
        <LoadMore pages={pages} />
      </div>
      {decided && <Decide {...decided} onClose={() => setDecided(undefined)} onDone={() => pages.reload()} />}
    </>
  )
}

const columns: readonly Column<UnknownEffect>[] = [
  {
    name: 'key',
    title: words.columns.effect,
    width: 'minmax(0, 1fr)',
    isLink: true,
    cell: ({ key }) => (
      <>
        <span class="pill attention" /> <b>{key}</b>
      </>
    ),
  },
  {
    name: 'mode',
    title: words.columns.mode,
    width: '110px',
    shown: 'wide',
    cell: ({ mode }) => <span class="muted">{mode}</span>,
  },
  {
    name: 'where',
    title: words.columns.where,
    width: 'minmax(0, 0.6fr)',
    shown: 'wide',
    cell: ({ call, tenant }) => (
      <>
        <span class="muted">
          {tenant === 'default' ? '' : `${tenant} · `}
          {call?.source} →{' '}
        </span>
        {call?.subscriber}
      </>
    ),
  },
  {
    name: 'jobs',
    title: words.columns.jobs,
    width: '104px',
    align: 'end',
    shown: 'wide',
    cell: ({ jobs }) => (jobs.length === 0 ? <span class="faint">{words.abandoned}</span> : jobs.length),
  },
  {
    name: 'called',
    title: words.columns.called,
    width: '84px',
    align: 'end',
    cell: ({ startedAt }) => (
      <span class="muted">
        <Time at={startedAt} />
      </span>
    ),
  },
]
