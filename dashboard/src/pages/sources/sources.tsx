import './sources.css'
import { client, newKey } from '../../api.ts'
import { type Items, PAGE, useItems } from '../../data/items.ts'
import { formatCount, formatDuration } from '../../format.ts'
import { Empty } from '../../parts/feedback.tsx'
import { LastHeard } from '../../parts/last-heard.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import { Pause } from '../../parts/pause.tsx'
import { SourceName } from '../../parts/source-name.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { eventsOfSource } from '../../search/events-of-source.ts'
import { texts } from '../../texts.ts'
import { Catalogue } from './catalogue.tsx'
import { type Source, TestEvent } from './test-event.tsx'

const words = texts.sources
const titles = words.columns
const REFRESH_MS = 2_000

export default function Sources() {
  const sources = useItems((signal) => client.items('/sources', { query: { limit: PAGE }, signal }), [], {
    refreshMs: REFRESH_MS,
  })
  return (
    <>
      <div class="head">
        <h1>{texts.pages.sources}</h1>
      </div>
      {sources.data ? <List sources={sources.data} reload={sources.reload} /> : <Waiting {...sources} />}
      <LoadMore pages={sources} />
      <Catalogue />
    </>
  )
}

interface ListProps extends Pick<Items<Source>, 'reload'> {
  readonly sources: readonly Source[]
}

function List({ sources, reload }: ListProps) {
  if (sources.length === 0)
    return (
      <div class="card">
        <Empty title={words.empty} command={words.emptyCommand}>
          {words.emptyHint}
        </Empty>
      </div>
    )
  return (
    <div class="card">
      <Table
        label={words.title}
        columns={columns(reload)}
        items={sources}
        keyOf={({ tenant, source }) => `${tenant} ${source}`}
        hrefOf={(source) => eventsOfSource(source, sources)}
      />
    </div>
  )
}

function columns(reload: () => void): readonly Column<Source>[] {
  return [
    {
      name: 'source',
      title: titles.source,
      width: 'minmax(130px, 1.4fr)',
      cell: (one) => <SourceName {...one} fault={one.health === 'ok' ? '' : words.health[one.health]} />,
    },
    number('waiting', titles.waiting, ({ waiting }) => waiting),
    number('retrying', titles.retrying, ({ retrying }) => retrying, 'retrying'),
    number('failed', titles.failed, ({ failed }) => failed, 'failed'),
    number('attention', titles.attention, ({ attention }) => attention, 'attention'),
    {
      name: 'lag',
      title: titles.lag,
      width: '90px',
      align: 'end',
      shown: 'wide',
      cell: ({ lagSeconds }) => (lagSeconds === 0 ? '0 s' : formatDuration(lagSeconds * 1_000)),
    },
    {
      name: 'secret',
      title: titles.secret,
      width: '92px',
      shown: 'widest',
      cell: ({ secrets }) => (
        <span class="muted" title={words.secretTitle}>
          {secrets.map(({ secret }) => words.secret(secret)).join(', ') || '–'}
        </span>
      ),
    },
    {
      name: 'last',
      title: titles.last,
      width: '92px',
      align: 'end',
      shown: 'wide',
      cell: (source) => <LastHeard source={source} />,
    },
    {
      name: 'act',
      title: titles.act,
      isTitleHidden: true,
      width: '136px',
      align: 'end',
      cell: (source) => <Verbs source={source} reload={reload} />,
    },
  ]
}

function number(
  name: string,
  title: string,
  of: (source: Source) => number,
  colour?: 'retrying' | 'failed' | 'attention',
): Column<Source> {
  return {
    name,
    title,
    width: '66px',
    align: 'end',
    shown: 'wide',
    cell: (source) => (
      <span class={colour !== undefined && of(source) > 0 ? colour : ''}>{formatCount(of(source))}</span>
    ),
  }
}

function Verbs({ source, reload }: { readonly source: Source; readonly reload: () => void }) {
  const { source: name, tenant, pausedAt } = source
  return (
    <span class="source-verbs">
      <TestEvent source={source} />
      <Pause
        name={name}
        isPaused={pausedAt !== null}
        hint={words.pauseHint}
        onConfirm={async (verb, why) => {
          const request = { params: { source: name }, body: { why, tenant }, idempotencyKey: newKey() }
          if (verb === 'pause') await client.post('/sources/{source}/pause', request)
          else await client.post('/sources/{source}/resume', request)
          reload()
        }}
      />
    </span>
  )
}
