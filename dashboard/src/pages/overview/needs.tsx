import type { ComponentChildren } from 'preact'
import { canOperate, client, seesAllTenants } from '../../api.ts'
import { firstOf, PAGE } from '../../data/items.ts'
import { useResource } from '../../data/resource.ts'
import { Failure, Skeleton } from '../../parts/feedback.tsx'
import { ProbeNow } from '../../parts/probe-now.tsx'
import { Time } from '../../parts/time.tsx'
import { href } from '../../router.ts'
import { texts } from '../../texts.ts'
import { keyOfEffect } from '../attention/effect-key.ts'
import { keyOfGroup } from '../failures/group-key.ts'
import { keyOfRejection } from '../rejections/rejection-key.ts'
import { isShown, isUnsigned, type Target, targetOf } from './alert-rows.ts'

/* Work for a person comes first: a sentence, and the button that helps. */

const words = texts.overview
/**
 * The number of shown rows of each kind. The last row counts the others and links to their page.
 */
const SHOWN = 2
/** The limit of the count of each kind. */
const COUNTED = 20
const DAY_MS = 86_400_000

async function readNeeds(isWhole: boolean, signal: AbortSignal) {
  const query = { limit: COUNTED }
  const request = { query: { limit: PAGE }, signal }
  const [attention, failures, rejections, circuits, alerts, status] = await Promise.all([
    client.get('/attention', { query, signal }),
    client.get('/failures', { query, signal }),
    firstOf(unsigned(client.items('/rejections', request)), COUNTED),
    // Any page of the list may have an open circuit.
    firstOf(heldByCircuit(client.items('/subscribers', request)), Number.POSITIVE_INFINITY),
    firstOf(client.items('/alerts', request), Number.POSITIVE_INFINITY),
    isWhole ? client.get('/status', { signal }) : undefined,
  ])
  const rows = {
    attention: attention.data,
    failures: failures.data,
    rejections: rejections.items,
    circuits: onceEach(
      circuits.items,
      ({ tenant, subscriber, circuit }) => `${tenant} ${subscriber} ${circuit?.since}`,
    ),
  }
  return {
    ...rows,
    alerts: alerts.items.filter((alert) => !isShown(alert, rows)),
    unattended: status?.unattended ?? [],
  }
}

/** The rejections of the last day. The list begins with the latest. */
async function* unsigned<Item extends { readonly code: string; readonly lastAt: string }>(
  rejections: AsyncIterable<Item>,
): AsyncGenerator<Item> {
  const yesterday = Date.now() - DAY_MS
  for await (const one of rejections) {
    if (Date.parse(one.lastAt) < yesterday) return
    if (isUnsigned(one)) yield one
  }
}

async function* heldByCircuit<Item extends { readonly circuit: { readonly state: string } | null }>(
  subscribers: AsyncIterable<Item>,
): AsyncGenerator<Item> {
  for await (const one of subscribers) if (one.circuit !== null && one.circuit.state !== 'closed') yield one
}

/** A destination has one circuit, but is a subscriber of several sources. */
function onceEach<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()]
}

type Needed = Awaited<ReturnType<typeof readNeeds>>

export function Needs() {
  const isWhole = seesAllTenants.value
  const { data, error, reload } = useResource((signal) => readNeeds(isWhole, signal), [isWhole], {
    refreshMs: 3_000,
  })
  if (!data)
    return (
      <div class="card">
        {error === undefined ? <Skeleton rows={2} /> : <Failure error={error} onRetry={reload} />}
      </div>
    )
  const rows = rowsOf(data, reload)
  if (rows.length === 0)
    return (
      <div class="card calm">
        <span class="pill processed plain">{words.nothing}</span>
      </div>
    )
  return <div class="needs">{rows}</div>
}

interface NeedProps extends Target {
  readonly kind: string
  readonly colour: string
  readonly verb: string
  /** The button that helps at once. Without it, the verb is a link. */
  readonly button?: ComponentChildren
  /** The problem in one sentence. */
  readonly sentence: ComponentChildren
  readonly at?: string | undefined
  /** The number of further rows of this kind. */
  readonly more: number
}

type Described = Omit<NeedProps, 'more'> & { readonly key: string }

/** The first rows of a kind. The last row counts the rows that are not shown. */
function topOf<Item>(items: readonly Item[], describe: (item: Item) => Described) {
  const shown = items.slice(0, SHOWN)
  return shown.map((item, place) => {
    const { key, ...need } = describe(item)
    return <Need key={key} {...need} more={place === shown.length - 1 ? items.length - SHOWN : 0} />
  })
}

function rowsOf(
  { attention, failures, rejections, circuits, alerts, unattended }: Needed,
  reload: () => void,
) {
  // A caller who may only read is not asked to act.
  const act = (verb: string): string => (canOperate.value ? verb : words.look)
  return [
    ...topOf(attention, (effect) => ({
      key: `effect ${keyOfEffect(effect)}`,
      ...{ kind: 'attention', colour: 'attention', at: effect.startedAt },
      ...{ path: '/attention', query: { effect: keyOfEffect(effect) }, verb: act(words.decide) },
      sentence: (
        <>
          <b>{effect.key}</b> {words.effectUnknown}{' '}
          <span class="muted">{words.jobsWait(effect.jobs.length)}</span>
        </>
      ),
    })),
    ...topOf(failures, (group) => ({
      key: `group ${keyOfGroup(group)}`,
      ...{ kind: 'failures', colour: 'failed', at: group.lastAt },
      ...{ path: '/failures', query: { group: keyOfGroup(group) }, verb: act(words.planReplay) },
      sentence: (
        <>
          <b>{words.eventsOf(group.jobs)}</b> {words.of} <b>{group.subscriber}</b> {words.failed}{' '}
          <code>{firstLine(group.error)}</code>
        </>
      ),
    })),
    ...topOf(circuits, ({ source, tenant, subscriber, circuit, pausedAt }) => ({
      key: `circuit ${source} ${subscriber}`,
      ...{ kind: 'circuit', colour: 'failed', path: '/destinations', verb: words.look },
      ...(canOperate.value && circuit?.state === 'open' && pausedAt === null
        ? { button: <ProbeNow {...{ source, tenant, subscriber }} onDone={reload} /> }
        : {}),
      sentence: (
        <>
          <a class="link" href={href('/destinations')}>
            <b>{subscriber}</b>
          </a>{' '}
          {words.circuitOpen} <span class="muted">{firstLine(circuit?.reason ?? '')}</span>
        </>
      ),
    })),
    ...topOf(rejections, (refused) => ({
      key: `rejection ${keyOfRejection(refused)}`,
      ...{ kind: 'signature', colour: 'retrying', at: refused.lastAt },
      ...{ path: '/rejections', query: { of: keyOfRejection(refused) }, verb: act(words.fix) },
      sentence: (
        <>
          <b>{refused.source}</b> {words.refused(refused.count)}{' '}
          <span class="muted">{firstLine(refused.diagnosis || refused.lastDetail)}</span>
        </>
      ),
    })),
    ...topOf(unattended, ({ source, subscriber, jobs }) => ({
      key: `unattended ${source} ${subscriber}`,
      ...{ kind: 'unattended', colour: 'retrying', path: '/destinations', verb: words.look },
      sentence: (
        <>
          <b>{subscriber}</b> {words.unserved} <span class="muted">{words.jobsWait(jobs)}</span>
        </>
      ),
    })),
    ...topOf(alerts, (alert) => ({
      key: `alert ${alert.id}`,
      ...{ kind: alert.rule, colour: 'retrying', at: alert.openedAt },
      ...{ ...targetOf(alert), verb: words.look },
      sentence: (
        <>
          <b>{alert.subscriber || alert.source}</b>: {alert.says}
        </>
      ),
    })),
  ]
}

/** The time is outside the sentence, which may be truncated. */
function Need({ kind, colour, path, query, verb, button, sentence, at, more }: NeedProps) {
  return (
    <div class="card need">
      <span class={`pill ${colour}`}>{words.labels[kind] ?? kind}</span>
      <span>{sentence}</span>
      <span class="note muted">
        {at !== undefined && <Time at={at} />}
        {at !== undefined && more > 0 && ' · '}
        {more > 0 && words.more(more, more >= COUNTED - SHOWN)}
      </span>
      {button ?? (
        <a class="button" href={href(path, query)}>
          {verb}
        </a>
      )}
    </div>
  )
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}
