import './captured.css'
import type { ItemOf } from 'hookonce/client'
import { client, seesAllTenants } from '../../api.ts'
import { usePages } from '../../data/pages.ts'
import { useResource } from '../../data/resource.ts'
import { formatBytes, formatDuration } from '../../format.ts'
import { Empty } from '../../parts/feedback.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { href, queryValue } from '../../router.ts'
import { texts } from '../../texts.ts'
import { CapturedRequest } from './request.tsx'

type Captured = ItemOf<'/captured'>

const words = texts.captured
const titles = words.columns
/** Captured requests are not in the ledger, so the stream does not announce them. */
const POLL_MS = 2_000

const columns: readonly Column<Captured>[] = [
  {
    name: 'request',
    title: titles.request,
    width: 'minmax(0, 2fr)',
    cell: ({ method, url }) => (
      <code>
        {method} {url}
      </code>
    ),
  },
  {
    name: 'looksLike',
    title: titles.looksLike,
    width: 'minmax(0, 1fr)',
    cell: ({ looksLike }) => looksLike[0] ?? <span class="faint">{words.unknown}</span>,
  },
  {
    name: 'size',
    title: titles.size,
    width: '76px',
    align: 'end',
    shown: 'wide',
    cell: ({ bodyBytes }) => <span class="muted">{formatBytes(bodyBytes)}</span>,
  },
  {
    name: 'took',
    title: titles.took,
    width: '76px',
    align: 'end',
    shown: 'wide',
    cell: ({ durationMs }) => <span class="muted">{formatDuration(durationMs)}</span>,
  },
  {
    name: 'at',
    title: titles.at,
    width: '80px',
    align: 'end',
    cell: ({ at }) => (
      <span class="muted">
        <Time at={at} />
      </span>
    ),
  },
]

export default function CapturedPage() {
  return (
    <>
      <div class="head">
        <h1>{words.title}</h1>
        <span class="muted">{words.hint}</span>
      </div>
      {seesAllTenants.value ? <IfKept /> : <p class="card calm muted">{words.onlyAll}</p>}
    </>
  )
}

/** Only `hookonce dev` keeps requests. Other gateways are not asked again and again. */
function IfKept() {
  const gateway = useResource((signal) => client.get('/gateway', { signal }), [])
  if (!gateway.data) return <Waiting {...gateway} />
  if (gateway.data.captures) return <Kept deliveryUrl={gateway.data.deliveryUrl} />
  return (
    <div class="card">
      <Empty title={words.onlyDev}>{words.onlyDevHint}</Empty>
    </div>
  )
}

function Kept({ deliveryUrl }: { readonly deliveryUrl: string | null }) {
  const open = queryValue('request')
  const pages = usePages(
    (cursor, signal) =>
      client.get('/captured', {
        query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) },
        signal,
      }),
    [],
    { keyOf: ({ id }) => id, pollMs: POLL_MS },
  )
  const { items, isFirstLoading, error, reload } = pages
  const hasNone = items.length === 0
  return (
    <>
      {hasNone && (isFirstLoading || error !== undefined) && <Waiting error={error} reload={reload} />}
      {hasNone && !isFirstLoading && error === undefined && (
        <div class="card">
          {deliveryUrl === null ? (
            <Empty title={words.empty} />
          ) : (
            <Empty title={words.empty} command={words.emptyCommand(deliveryUrl)}>
              {words.emptyHint}
            </Empty>
          )}
        </div>
      )}
      {!hasNone && (
        <div class="card">
          <Table
            label={words.title}
            columns={columns}
            items={items}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => href('/captured', { request: id })}
          />
          <LoadMore pages={pages} />
        </div>
      )}
      {open !== '' && <CapturedRequest key={open} id={open} />}
    </>
  )
}
