import type { ItemOf } from 'hookonce/client'
import { client } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { roughly } from '../../format.ts'
import { Copy } from '../../parts/copy.tsx'
import { Empty } from '../../parts/feedback.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { queryValue, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'

type Provider = ItemOf<'/providers'>

const words = texts.sources
const titles = words.providerColumns
const SHOWN = 12

const columns: readonly Column<Provider>[] = [
  { name: 'name', title: titles.name, width: 'minmax(0, 1fr)', cell: ({ name }) => name },
  {
    name: 'category',
    title: titles.category,
    width: 'minmax(0, 0.8fr)',
    shown: 'wide',
    cell: ({ category }) => <span class="muted">{category}</span>,
  },
  {
    name: 'signature',
    title: titles.signature,
    width: '130px',
    shown: 'widest',
    cell: ({ signature }) => <span class="muted">{signature}</span>,
  },
  {
    name: 'retries',
    title: titles.retries,
    width: '90px',
    shown: 'widest',
    align: 'end',
    cell: ({ retriesForSeconds }) => (
      <span class="muted">{retriesForSeconds === null ? '–' : roughly(retriesForSeconds * 1_000)}</span>
    ),
  },
  {
    name: 'line',
    title: titles.line,
    width: 'minmax(0, 2fr)',
    cell: ({ configuration }) => <Copy text={configuration} />,
  },
]

async function allProviders(signal: AbortSignal): Promise<Provider[]> {
  const all: Provider[] = []
  for await (const one of client.items('/providers', { query: { limit: 200 }, signal })) all.push(one)
  return all
}

/** The providers that hookonce knows, with the line that configures each. */
export function Catalogue() {
  const asked = queryValue('provider')
  const catalogue = useResource(allProviders, [])
  const all = catalogue.data ?? []
  const parts = asked.toLowerCase().split(/\s+/).filter(Boolean)
  const found = all.filter((provider) => parts.every((part) => textOf(provider).includes(part)))
  return (
    <>
      <div class="section catalogue-search">
        <h2>{words.catalogue}</h2>
        <input
          type="search"
          aria-label={words.search}
          placeholder={words.searchHint}
          value={asked}
          onInput={(event) => setQuery({ provider: event.currentTarget.value })}
        />
        <span class="muted" role="status">
          {catalogue.data && words.count(found.length, all.length)}
        </span>
      </div>
      {catalogue.data ? <Found providers={found} /> : <Waiting {...catalogue} />}
    </>
  )
}

function Found({ providers }: { readonly providers: readonly Provider[] }) {
  const hidden = providers.length - SHOWN
  return (
    <div class="card">
      {providers.length === 0 ? (
        <Empty title={words.noProvider}>{words.noProviderHint}</Empty>
      ) : (
        <Table
          label={words.catalogue}
          columns={columns}
          items={providers.slice(0, SHOWN)}
          keyOf={({ id }) => id}
        />
      )}
      {hidden > 0 && <p class="catalogue-more">{words.more(hidden)}</p>}
    </div>
  )
}

function textOf({ id, name, category, signature }: Provider): string {
  return [id, name, category, signature].join(' ').toLowerCase()
}
