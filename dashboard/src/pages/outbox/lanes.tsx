import type { ItemOf } from 'hookonce/client'
import { useState } from 'preact/hooks'
import { canOperate, client, newKey } from '../../api.ts'
import { PAGE, useItems } from '../../data/items.ts'
import { formatCount, roughly } from '../../format.ts'
import { Copy } from '../../parts/copy.tsx'
import { PlanDialog } from '../../parts/dialog.tsx'
import { ExpandTable, Fact, Facts } from '../../parts/expand-table.tsx'
import { Empty, Failure, Skeleton } from '../../parts/feedback.tsx'
import { LoadMore } from '../../parts/load-more.tsx'
import type { Column } from '../../parts/table.tsx'
import { now, Time } from '../../parts/time.tsx'
import { href, queryValue, setQuery } from '../../router.ts'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'

const words = texts.outbox

type Lane = ItemOf<'/outbox/lanes'>

/** Lanes whose first message is refused, so their other messages wait. */
export function Lanes({ topic }: { readonly topic: string }) {
  const pages = useItems(
    (signal) =>
      client.items('/outbox/lanes', { query: { limit: PAGE, ...(topic === '' ? {} : { topic }) }, signal }),
    [topic],
    { refreshMs: 3_000 },
  )
  const { data: lanes, error, reload } = pages
  const [tried, setTried] = useState<Lane>()
  if (!lanes) return error === undefined ? <Skeleton /> : <Failure error={error} onRetry={reload} />
  if (lanes.length === 0)
    return (
      <Empty title={words.noLanes} command={words.noLanesCommand}>
        {words.noLanesHint}
      </Empty>
    )
  return (
    <>
      <ExpandTable
        label={words.tabs.stuck}
        columns={columns}
        items={lanes}
        keyOf={({ messageId }) => messageId}
        openKey={queryValue('message') || undefined}
        onOpen={(key) => setQuery({ message: key })}
        detail={(lane) => <LaneFacts lane={lane} onTry={() => setTried(lane)} />}
        verbs={canOperate.value ? [{ keys: 'r', label: words.tryNow.verb, run: setTried }] : []}
      />
      <LoadMore pages={pages} />
      {tried && <TryNow lane={tried} onClose={() => setTried(undefined)} onDone={reload} />}
    </>
  )
}

interface TryNowProps {
  readonly lane: Lane
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Publishes the first message of a lane now, before its scheduled time. */
function TryNow({ lane, onClose, onDone }: TryNowProps) {
  const { tryNow } = words
  async function retry(why: string): Promise<void> {
    const { retried } = await client.post('/outbox/{id}/retry', {
      params: { id: lane.messageId },
      body: { why },
      idempotencyKey: newKey(),
    })
    toast(retried ? tryNow.notice : tryNow.notYet)
    onDone()
  }
  return (
    <PlanDialog title={tryNow.title(lane.topic)} verb={tryNow.verb} onConfirm={retry} onClose={onClose}>
      <dl class="consequence">
        <dt>{tryNow.will}</dt>
        <dd>{tryNow.willHint}</dd>
        <dt>{tryNow.willNot}</dt>
        <dd>{tryNow.willNotHint}</dd>
      </dl>
    </PlanDialog>
  )
}

function LaneFacts({ lane, onTry }: { readonly lane: Lane; readonly onTry: () => void }) {
  const { waiting, attempts, isPublishing, dueAt, reason, crashes } = lane
  return (
    <>
      <p>
        <b>{words.refused(attempts)}</b> <NextTry dueAt={dueAt} isPublishing={isPublishing} />{' '}
        {words.behind(waiting - 1)}
      </p>
      <pre class="block">{reason ?? words.noReason}</pre>
      <Facts>
        <Fact name={words.facts.topic}>
          <code>{lane.topic}</code>
        </Fact>
        {lane.key !== null && (
          <Fact name={words.facts.key}>
            <Copy text={lane.key} />
          </Fact>
        )}
        <Fact name={words.facts.message}>
          <Copy text={lane.messageId} />
        </Fact>
        <Fact name={words.facts.event}>
          <a class="link mono" href={href(`/events/${lane.receiptId}`)}>
            {lane.receiptId.slice(0, 8)}
          </a>
        </Fact>
        {crashes > 0 && <Fact name={words.facts.crashes}>{words.crashes(crashes)}</Fact>}
        <Fact name={words.facts.since}>
          <Time at={lane.oldestAt} as="clock" />
        </Fact>
      </Facts>
      <p class="muted">{words.laneHint}</p>
      {canOperate.value && !isPublishing && Date.parse(dueAt) > now.value && (
        <div class="actions">
          <button type="button" onClick={onTry}>
            {words.tryNow.button} <kbd>r</kbd>
          </button>
        </div>
      )}
    </>
  )
}

/** If a lane has been due for this long, no relay is publishing it. */
const OVERDUE_MS = 60_000

function NextTry({ dueAt, isPublishing }: Pick<Lane, 'dueAt' | 'isPublishing'>) {
  if (isPublishing) return <>{words.trying}</>
  const lateMs = now.value - Date.parse(dueAt)
  if (lateMs > OVERDUE_MS) return <>{words.overdue(roughly(lateMs))}</>
  if (lateMs > 0) return <>{words.due}</>
  return (
    <>
      {words.next} <Time at={dueAt} />.
    </>
  )
}

const columns: readonly Column<Lane>[] = [
  {
    name: 'lane',
    title: words.columns.lane,
    width: 'minmax(0, 1fr)',
    isLink: true,
    cell: ({ topic, key, tenant }) => (
      <>
        {tenant !== 'default' && <span class="muted">{tenant} · </span>}
        {topic} {key !== null && <code class="muted">{key}</code>}
      </>
    ),
  },
  {
    name: 'reason',
    title: words.columns.reason,
    width: 'minmax(0, 1.3fr)',
    shown: 'wide',
    cell: ({ reason }) => <span class="retrying">{reason ?? words.noReason}</span>,
  },
  {
    name: 'waiting',
    title: words.columns.waiting,
    width: '70px',
    align: 'end',
    cell: ({ waiting }) => (waiting >= 1_000 ? '1,000+' : formatCount(waiting)),
  },
  {
    name: 'attempts',
    title: words.columns.attempts,
    width: '76px',
    align: 'end',
    shown: 'wide',
    cell: ({ attempts }) => attempts,
  },
  {
    name: 'next',
    title: words.columns.next,
    width: '84px',
    align: 'end',
    cell: ({ dueAt, isPublishing }) => (
      <span class="muted">
        {isPublishing || Date.parse(dueAt) <= now.value ? words.now : <Time at={dueAt} />}
      </span>
    ),
  },
]
