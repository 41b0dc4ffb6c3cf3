import './rejections.css'
import { client } from '../../api.ts'
import { PAGE, useItems } from '../../data/items.ts'
import { useResource } from '../../data/resource.ts'
import { formatCount } from '../../format.ts'
import { ExpandTable } from '../../parts/expand-table.tsx'
import { Empty, Failure, Skeleton } from '../../parts/feedback.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { queryValue, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Refusal, type Rejection } from './refusal.tsx'
import { keyOfRejection } from './rejection-key.ts'

const words = texts.rejections

/** Refused deliveries, with the reason and the change to make. */
export default function Rejections() {
  const pages = useItems((signal) => client.items('/rejections', { query: { limit: PAGE }, signal }), [], {
    refreshMs: 3_000,
  })
  const { data: rejections, error, reload } = pages
  const asked = queryValue('of')
  const first = rejections?.[0]
  // The latest rejection is open at first, because it is usually the interesting one.
  const openKey = asked === '-' ? undefined : asked || (first && keyOfRejection(first))
  return (
    <>
      <div class="head">
        <h1>{texts.pages.rejections}</h1>
        {first && <span class="muted">{words.intro}</span>}
      </div>
      <div class="card">
        {!rejections && error === undefined && <Skeleton rows={5} />}
        {!rejections && error !== undefined && <Failure error={error} onRetry={reload} />}
        {rejections?.length === 0 && <NoRejection />}
        {rejections && rejections.length > 0 && (
          <ExpandTable
            label={texts.pages.rejections}
            columns={columns}
            items={rejections}
            keyOf={keyOfRejection}
            openKey={openKey}
            onOpen={(key) => setQuery({ of: key ?? '-' })}
            detail={(rejection) => <Refusal rejection={rejection} />}
          />
        )}
        <LoadMore pages={pages} />
      </div>
    </>
  )
}

/** An example of the command, for the first source. */
function NoRejection() {
  const { data } = useResource((signal) => client.get('/gateway', { signal }), [])
  const command = data?.verifyCommand
  return command ? (
    <Empty title={words.none} command={command}>
      {words.noneHint} {words.noneCommandHint}
    </Empty>
  ) : (
    <Empty title={words.none}>{words.noneHint}</Empty>
  )
}

const columns: readonly Column<Rejection>[] = [
  {
    name: 'source',
    title: words.columns.source,
    width: 'minmax(90px, 0.22fr)',
    cell: ({ source }) => <b>{source === '(unknown)' ? words.unknown : source}</b>,
  },
  {
    name: 'why',
    title: words.columns.why,
    width: 'minmax(0, 1fr)',
    isLink: true,
    cell: ({ diagnosis, lastDetail }) => diagnosis || lastDetail,
  },
  {
    name: 'code',
    title: words.columns.code,
    width: '190px',
    shown: 'widest',
    cell: ({ code }) => <code class="muted">{code}</code>,
  },
  {
    name: 'count',
    title: words.columns.count,
    width: '84px',
    align: 'end',
    shown: 'wide',
    cell: ({ count }) => formatCount(count),
  },
  {
    name: 'last',
    title: words.columns.last,
    width: '84px',
    align: 'end',
    cell: ({ lastAt }) => (
      <span class="muted">
        <Time at={lastAt} />
      </span>
    ),
  },
]
