import './destinations.css'
import type { ItemOf } from 'hookonce/client'
import { client } from '../../api.ts'
import { PAGE, useItems } from '../../data/items.ts'
import { Empty } from '../../parts/feedback.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import { Pause } from '../../parts/pause.tsx'
import { ProbeNow } from '../../parts/probe-now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { texts } from '../../texts.ts'
import { circuitColumn, holdOrRelease, isProbeLater, waitingColumn } from './columns.tsx'
import { Subscribers } from './subscribers.tsx'

type Destination = ItemOf<'/destinations'>

const words = texts.destinations
const titles = words.columns
const REFRESH_MS = 2_000

export default function Destinations() {
  const query = { limit: PAGE }
  const destinations = useItems((signal) => client.items('/destinations', { query, signal }), [], {
    refreshMs: REFRESH_MS,
  })
  const subscribers = useItems((signal) => client.items('/subscribers', { query, signal }), [], {
    refreshMs: REFRESH_MS,
  })
  const reload = (): void => {
    destinations.reload()
    subscribers.reload()
  }
  const found = destinations.data
  return (
    <>
      <div class="head">
        <h1>{texts.pages.destinations}</h1>
      </div>
      {found === undefined && <Waiting {...destinations} />}
      {found?.length === 0 && (
        <div class="card">
          <Empty title={words.empty} command={words.emptyCommand}>
            {words.emptyHint}
          </Empty>
        </div>
      )}
      {found !== undefined && found.length > 0 && (
        <div class="card">
          <Table label={words.title} columns={columns(reload)} items={found} keyOf={({ name }) => name} />
          <LoadMore pages={destinations} />
        </div>
      )}
      <div class="section">
        <h2>{words.subscribers}</h2>
        <span class="muted">{words.subscriberHint}</span>
      </div>
      {subscribers.data ? (
        <Subscribers subscribers={subscribers.data} reload={reload} />
      ) : (
        <Waiting {...subscribers} />
      )}
      <LoadMore pages={subscribers} />
    </>
  )
}

function columns(reload: () => void): readonly Column<Destination>[] {
  return [
    {
      name: 'name',
      title: titles.name,
      width: 'minmax(90px, 1fr)',
      cell: ({ name, isServed, paused }) => (
        <>
          {name}
          {!isServed && <span class="retrying"> · {words.unserved}</span>}
          {paused.length > 0 && <span class="muted"> · {words.pausedFor(paused.join(', '))}</span>}
        </>
      ),
    },
    {
      name: 'url',
      title: titles.url,
      width: 'minmax(0, 2.2fr)',
      shown: 'wide',
      cell: ({ url }) => (
        <code class="muted" title={url}>
          {url.replace(/^https:\/\//, '')}
        </code>
      ),
    },
    {
      name: 'gets',
      title: titles.gets,
      width: 'minmax(0, 1.4fr)',
      shown: 'widest',
      cell: ({ types, sources }) => (
        <span class="muted" title={`${sources.join(', ')}: ${types}`}>
          {sources.join(', ')}: {types === '*' ? words.everything : types}
        </span>
      ),
    },
    waitingColumn,
    circuitColumn,
    {
      name: 'rate',
      title: titles.rate,
      width: '80px',
      align: 'end',
      shown: 'widest',
      cell: ({ rate }) => (
        <span class="muted">{rate === null ? words.noRate : words.rate(rate.perSecond)}</span>
      ),
    },
    {
      name: 'act',
      title: titles.act,
      isTitleHidden: true,
      width: 'var(--acts)',
      align: 'end',
      cell: (destination) => <Verbs destination={destination} reload={reload} />,
    },
  ]
}

function Verbs({ destination, reload }: { readonly destination: Destination; readonly reload: () => void }) {
  const { name, sources, paused } = destination
  const [first] = sources
  return (
    <span class="held-verbs">
      {first !== undefined && isProbeLater(destination, paused.length > 0) && (
        // All its sources share one circuit.
        <ProbeNow {...partsOf(first)} subscriber={name} size="small" onDone={reload} />
      )}
      <Pause
        name={name}
        isPaused={paused.length > 0}
        hint={words.pauseHint(sources.join(', '))}
        onConfirm={async (verb, why) => {
          // A resume names the paused sources. A pause names all sources.
          for (const key of verb === 'resume' ? paused : sources)
            await holdOrRelease({ verb, why, subscriber: name, ...partsOf(key) })
          reload()
        }}
      />
    </span>
  )
}

/** `acme/github` is the source "github" of the tenant "acme". */
function partsOf(key: string): { readonly source: string; readonly tenant: string } {
  const slash = key.indexOf('/')
  return slash < 0
    ? { source: key, tenant: 'default' }
    : { source: key.slice(slash + 1), tenant: key.slice(0, slash) }
}
