import './failures.css'
import { useMemo, useState } from 'preact/hooks'
import { canOperate, client } from '../../api.ts'
import { PAGE } from '../../data/items.ts'
import { useResource } from '../../data/resource.ts'
import { ExpandTable } from '../../parts/expand-table.tsx'
import { Empty, Failure, Skeleton } from '../../parts/feedback.tsx'
import { ReplayManyDialog } from '../../parts/replay-many.tsx'
import { Segments } from '../../parts/segments.tsx'
import { queryValue, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import { type FailureGroup, groupColumns } from './columns.tsx'
import { Group } from './group.tsx'
import { keyOfGroup } from './group-key.ts'
import { Replays, useReplays } from './replays.tsx'
import { spanOf } from './series.ts'

const words = texts.failures
const PERIODS = ['24h', '7d', 'all'] as const
/** A long interval: grouping failures by text costs the ledger more than a page of events. */
const REFRESH_MS = 10_000

function filterOf({ tenant, source, subscriber, fingerprint }: FailureGroup) {
  return { state: 'failed', tenant, source, subscriber, error: fingerprint } as const
}

/** The API lists a bounded number of groups, so this is a request or two. */
async function readGroups(since: string | undefined, signal: AbortSignal) {
  const groups: FailureGroup[] = []
  let cursor: string | undefined
  for (;;) {
    const query = { limit: PAGE, since, cursor }
    const { data, next, isComplete } = await client.get('/failures', { query, signal })
    groups.push(...data)
    if (next === null) return { groups, isComplete }
    cursor = next
  }
}

export default function Failures() {
  const asked = queryValue('period')
  const period = PERIODS.find((one) => one === asked) ?? 'all'
  const { data, error, reload } = useResource(
    (signal) => readGroups(period === 'all' ? undefined : period, signal),
    [period],
    { refreshMs: REFRESH_MS },
  )
  const replays = useReplays(reload)
  const [replayed, setReplayed] = useState<FailureGroup>()
  const groups = data?.groups
  const columns = useMemo(() => groupColumns(spanOf(groups ?? [], Date.now())), [groups])
  const openKey = queryValue('group') || undefined

  return (
    <>
      <div class="head">
        <h1>{texts.pages.failures}</h1>
        {groups && groups.length > 0 && (
          <span class="muted">
            {words.sum(
              groups.reduce((all, { jobs }) => all + jobs, 0),
              groups.length,
            )}
            {!data.isComplete && words.andMore}
          </span>
        )}
        <span class="right">
          <Segments
            label={words.period}
            value={period}
            onChange={(next) => setQuery({ period: next === 'all' ? '' : next })}
            options={PERIODS.map((value) => ({ value, label: words.periods[value] }))}
          />
        </span>
      </div>
      <Replays replays={replays} part="running" />
      <div class="card">
        {!groups && error === undefined && <Skeleton rows={8} />}
        {!groups && error !== undefined && <Failure error={error} onRetry={reload} />}
        {groups?.length === 0 && (
          <Empty title={period === 'all' ? words.none : words.noneLately} command={words.noneCommand}>
            {words.noneHint}
          </Empty>
        )}
        {groups && groups.length > 0 && (
          <ExpandTable
            label={texts.pages.failures}
            columns={columns}
            items={groups}
            keyOf={keyOfGroup}
            openKey={openKey}
            onOpen={(key) => setQuery({ group: key })}
            detail={(group) => <Group group={group} onReplay={() => setReplayed(group)} />}
            verbs={canOperate.value ? [{ keys: 'r', label: words.replay, run: setReplayed }] : []}
          />
        )}
      </div>
      {data?.isComplete === false && (
        <p class="list-note muted">{period === 'all' ? words.moreGroups : words.olderFailures}</p>
      )}
      <Replays replays={replays} part="ended" />
      {replayed && (
        <ReplayManyDialog
          filter={filterOf(replayed)}
          what={words.what(replayed.subscriber, replayed.error)}
          suggestedName={`${replayed.subscriber}: ${replayed.error}`.slice(0, 120)}
          onClose={() => setReplayed(undefined)}
          onStarted={replays.reload}
        />
      )}
    </>
  )
}
