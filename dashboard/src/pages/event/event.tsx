import './event.css'
import { useEffect, useState } from 'preact/hooks'
import { canOperate, canReadBodies, client, explain } from '../../api.ts'
import { isPaused } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { formatDuration } from '../../format.ts'
import { useKeys } from '../../keys.ts'
import type { PageProps } from '../../page-props.ts'
import { Copy, copyText } from '../../parts/copy.tsx'
import { Failure, Skeleton } from '../../parts/feedback.tsx'
import { RetryNowDialog } from '../../parts/retry-now.tsx'
import { State } from '../../parts/state.tsx'
import { now, Time } from '../../parts/time.tsx'
import { eventState, isFinished } from '../../parts/worst-state.ts'
import { goBack, href } from '../../router.ts'
import { setTitle } from '../../shell/title.ts'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'
import { readBody } from './body.tsx'
import { curlOf } from './curl.ts'
import { Details } from './details.tsx'
import { readPayloads } from './payloads.ts'
import { doneIn, ReplayDialog } from './replay.tsx'
import type { Chain } from './timeline.ts'
import { Timeline } from './timeline-view.tsx'

const words = texts.event
/** The stream announces new events only. A replayed event is polled until it is done. */
const POLL_MS = 2_000
/** Jobs in `attention` do not change before an operator decides, so they are not polled. */
const IN_PROGRESS: ReadonlySet<string> = new Set(['received', 'processing', 'retrying'])

export default function EventPage({ params: { id = '' } }: PageProps) {
  // Each event gets a new component, so no state of the previous event remains.
  return <OneEvent key={id} id={id} />
}

function OneEvent({ id }: { readonly id: string }) {
  const { data, error, reload } = useResource(
    (signal) => client.get('/events/{id}', { params: { id }, signal }),
    [id],
    {
      refreshMs: 1_000,
      matters: (change) =>
        change.type === 'skipped' || ('receiptId' in change && change.receiptId.startsWith(id)),
    },
  )
  const isInProgress = data?.jobs.some(({ state }) => IN_PROGRESS.has(state)) ?? false
  useEffect(() => {
    if (!isInProgress || isPaused.value) return
    const timer = setInterval(reload, POLL_MS)
    return () => clearInterval(timer)
  }, [isInProgress, isPaused.value])
  if (data) return <Shown chain={data} reload={reload} />
  return (
    <div class="card">
      {error === undefined ? <Skeleton rows={10} /> : <Failure error={error} onRetry={reload} />}
    </div>
  )
}

function Shown({ chain, reload }: { readonly chain: Chain; readonly reload: () => void }) {
  const { receipt } = chain
  const states = chain.jobs.map(({ outcome }) => outcome)
  const [isReplaying, setReplaying] = useState(false)
  const [isRetrying, setRetrying] = useState(false)
  const replay = (): void => setReplaying(true)
  const isAsked = chain.jobs.some(({ state }) => state === 'attention')
  const waits = chain.jobs.some(({ state, dueAt }) => state === 'retrying' && isAhead(dueAt))
  const isReplayable = chain.jobs.length > 0 && hasPayload(receipt)
  const canReplay = canOperate.value && isReplayable
  const canCopy = canReadBodies.value && receipt.bodyBytes !== null && receipt.unreadable === null
  useEffect(() => setTitle(receipt.eventType), [receipt.eventType])
  useKeys([
    ...(canOperate.value && waits ? [{ label: texts.retryNow.ofEvent, run: () => setRetrying(true) }] : []),
    ...(canReplay ? [{ keys: 'r', label: words.replay.key, run: replay }] : []),
    ...(canCopy
      ? [
          { keys: 'c', label: words.curl, run: () => void copyCurl(receipt) },
          { keys: 't', label: words.test, run: () => void copyTest(receipt) },
        ]
      : []),
    { keys: 'u', label: words.back, run: () => goBack('/events') },
  ])
  return (
    <>
      <div class="head event-head">
        <h1 class="cut">{receipt.eventType}</h1>
        <State state={eventState({ states, imported: chain.imported })} />
        <span class="right buttons">
          {canCopy && (
            <>
              <button type="button" onClick={() => void copyCurl(receipt)}>
                {words.curl}
              </button>
              <button type="button" onClick={() => void copyTest(receipt)}>
                {words.test}
              </button>
            </>
          )}
          {canOperate.value && waits && (
            <button type="button" onClick={() => setRetrying(true)}>
              {texts.retryNow.ofEvent}
            </button>
          )}
          {canOperate.value && isAsked && (
            <a class="button first" href={href('/attention')}>
              {texts.overview.decide}
            </a>
          )}
          {canReplay && (
            <button type="button" class={isAsked ? undefined : 'first'} onClick={replay}>
              {words.replay.verb} <kbd>r</kbd>
            </button>
          )}
        </span>
      </div>
      <div class="muted names-line">
        {receipt.tenant === 'default' ? receipt.source : `${receipt.tenant} · ${receipt.source}`} ·{' '}
        <Copy text={receipt.eventKey} />
        {receipt.objectId !== null && (
          <>
            {' '}
            · <Copy text={receipt.objectId} />
          </>
        )}{' '}
        · {words.receipt} <Copy text={receipt.id} shown={receipt.id.slice(0, 8)} />
      </div>
      <Facts chain={chain} />
      <div class="cols">
        <Timeline chain={chain} />
        <aside class="card">
          <Details chain={chain} />
          {isReplayable && <Foresight chain={chain} />}
        </aside>
      </div>
      {isRetrying && (
        <RetryNowDialog
          filter={{ event: receipt.id }}
          what={texts.retryNow.whatEvent(receipt.eventType)}
          onClose={() => setRetrying(false)}
          onDone={reload}
        />
      )}
      {isReplaying && <ReplayDialog chain={chain} onClose={() => setReplaying(false)} onDone={reload} />}
    </>
  )
}

/**
 * Whether workers may still be able to read the event: they may have a key that this gateway lacks.
 */
function hasPayload({ bodyBytes, unreadable }: Chain['receipt']): boolean {
  return bodyBytes !== null || (unreadable !== null && unreadable.code !== 'PAYLOAD_FORGOTTEN')
}

/** Whether this time is in the future. */
function isAhead(at: string | null): boolean {
  return at !== null && Date.parse(at) > now.value
}

async function copyCurl(receipt: Chain['receipt']): Promise<void> {
  try {
    const { text } = await readBody(receipt.id)
    const { headers } = (await readPayloads(receipt.id)).receipt
    const path = receipt.tenant === 'default' ? receipt.source : `${receipt.tenant}/${receipt.source}`
    const url = `${await deliveryAddress()}/in/${path}`
    const line = curlOf({ url, headers: headers ?? '', body: text, file: `${receipt.id}.body` })
    await copyText(line, words.curlCopied)
  } catch (error) {
    toast(explain(error), { isBad: true })
  }
}

async function copyTest({ id }: Chain['receipt']): Promise<void> {
  try {
    const response = await client.get('/events/{id}/test', { params: { id } })
    await copyText(await response.text(), words.testCopied)
  } catch (error) {
    toast(explain(error), { isBad: true })
  }
}

/**
 * The address at which this gateway receives. A gateway that only works has none, so the default is
 * shown.
 */
async function deliveryAddress(): Promise<string> {
  const { deliveryUrl } = await client.get('/gateway')
  return deliveryUrl ?? 'http://127.0.0.1:4400'
}

function Facts({ chain }: { readonly chain: Chain }) {
  const { receipt, deliveries, jobs, effects } = chain
  const ends = jobs.flatMap(({ finishedAt }) => (finishedAt === null ? [] : [Date.parse(finishedAt)]))
  const isDone = jobs.length > 0 && jobs.every(({ state }) => isFinished(state))
  const took = isDone ? Math.max(...ends) - Date.parse(receipt.receivedAt) : undefined
  return (
    <dl class="card event-facts">
      <div>
        <dt>{words.facts.received}</dt>
        <dd>
          <Time at={receipt.receivedAt} as="clock" />
        </dd>
      </div>
      <div>
        <dt>{words.facts.deliveries}</dt>
        <dd>
          {deliveries.count}{' '}
          <span class="muted regular">{words.facts.repeats(deliveries.count, deliveries.mismatches)}</span>
        </dd>
      </div>
      <div>
        <dt>{words.facts.took}</dt>
        <dd>{took === undefined ? unended(jobs) : formatDuration(Math.max(0, took))}</dd>
      </div>
      <div>
        <dt>{words.facts.subscribers}</dt>
        <dd>{words.facts.states(jobs.map(({ outcome }) => outcome))}</dd>
      </div>
      <div>
        <dt>{words.facts.effects}</dt>
        <dd>{words.facts.effectStates(effects.map(({ state }) => state))}</dd>
      </div>
    </dl>
  )
}

function unended(jobs: Chain['jobs']): string {
  return jobs.length === 0 ? words.facts.nothingRuns : words.facts.notYet
}

/** Shows the plan of a replay before the user starts it. */
function Foresight({ chain }: { readonly chain: Chain }) {
  const { id } = chain.receipt
  const states = chain.jobs.map(({ state }) => state).join()
  const { data: plan } = useResource(
    (signal) => client.get('/events/{id}/replay', { params: { id }, signal }),
    [id, states],
  )
  if (!plan) return null
  const run = plan.jobs.filter(({ again }) => again).map(({ subscriber }) => subscriber)
  return (
    <div class="say">
      <b>{words.replay.ifYou}</b> {words.replay.foresight(run, doneIn(plan).length)}
    </div>
  )
}
