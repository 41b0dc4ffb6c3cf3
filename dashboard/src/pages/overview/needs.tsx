import type { ComponentChildren } from 'preact'
import { client, seesAllTenants } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { Failure, Skeleton } from '../../parts/feedback.tsx'
import { Time } from '../../parts/time.tsx'
import { href } from '../../router.ts'
import { texts } from '../../texts.ts'

/* Work for a person comes first: a sentence, and the button that helps. */

const words = texts.overview
/**
 * The number of shown rows of each kind. The last row counts the others and links to their page.
 */
const SHOWN = 2
/** The limit of the count of each kind. */
const COUNTED = 20
const DAY_MS = 86_400_000
/** These conditions are read from the ledger itself, with more detail than an alert has. */
const SHOWN_ALREADY = new Set(['failures', 'attention', 'circuit', 'signatures'])

async function readNeeds(isWhole: boolean, signal: AbortSignal) {
  const query = { limit: COUNTED }
  const [attention, failures, rejections, subscribers, alerts, status] = await Promise.all([
    client.get('/attention', { query, signal }),
    client.get('/failures', { query, signal }),
    client.get('/rejections', { query: { limit: 50 }, signal }),
    client.get('/subscribers', { query: { limit: 200 }, signal }),
    client.get('/alerts', { query: { limit: 50 }, signal }),
    isWhole ? client.get('/status', { signal }) : undefined,
  ])
  const yesterday = Date.now() - DAY_MS
  return {
    attention: attention.data,
    failures: failures.data,
    rejections: rejections.data.filter(
      ({ code, lastAt }) => code.startsWith('SIGNATURE') && Date.parse(lastAt) > yesterday,
    ),
    circuits: onceEach(
      subscribers.data.filter(({ circuit }) => circuit !== null && circuit.state !== 'closed'),
      ({ tenant, subscriber, circuit }) => `${tenant} ${subscriber} ${circuit?.since}`,
    ),
    alerts: alerts.data.filter(({ rule }) => !SHOWN_ALREADY.has(rule)),
    unattended: status?.unattended ?? [],
  }
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
  const rows = rowsOf(data)
  if (rows.length === 0)
    return (
      <div class="card calm">
        <span class="pill processed plain">{words.nothing}</span>
      </div>
    )
  return <div class="needs">{rows}</div>
}

interface NeedProps {
  readonly kind: string
  readonly colour: string
  readonly path: string
  readonly verb: string
  /** The problem in one sentence. */
  readonly sentence: ComponentChildren
  readonly at?: string | undefined
  /** The number of further rows of this kind. */
  readonly more: number
}

type Described = Omit<NeedProps, 'more'> & { readonly key: string }

/** The first rows of a kind. The last row counts the rows that are not shown. */
function firstOf<Item>(items: readonly Item[], describe: (item: Item) => Described) {
  const shown = items.slice(0, SHOWN)
  return shown.map((item, place) => {
    const { key, ...need } = describe(item)
    return <Need key={key} {...need} more={place === shown.length - 1 ? items.length - SHOWN : 0} />
  })
}

function rowsOf({ attention, failures, rejections, circuits, alerts, unattended }: Needed) {
  return [
    ...firstOf(attention, ({ key, jobs, startedAt }) => ({
      key: `effect ${key}`,
      ...{ kind: 'attention', colour: 'attention', path: '/attention', verb: words.decide, at: startedAt },
      sentence: (
        <>
          <b>{key}</b> {words.effectUnknown} <span class="muted">{words.jobsWait(jobs.length)}</span>
        </>
      ),
    })),
    ...firstOf(failures, ({ source, subscriber, fingerprint, jobs, error, lastAt }) => ({
      key: `group ${source} ${subscriber} ${fingerprint}`,
      ...{ kind: 'failures', colour: 'failed', path: '/failures', verb: words.planReplay, at: lastAt },
      sentence: (
        <>
          <b>{words.eventsOf(jobs)}</b> {words.of} <b>{subscriber}</b> {words.failed}{' '}
          <code>{firstLine(error)}</code>
        </>
      ),
    })),
    ...firstOf(circuits, ({ source, subscriber, circuit }) => ({
      key: `circuit ${source} ${subscriber}`,
      ...{ kind: 'circuit', colour: 'failed', path: '/destinations', verb: words.look },
      sentence: (
        <>
          <b>{subscriber}</b> {words.circuitOpen}{' '}
          <span class="muted">{firstLine(circuit?.reason ?? '')}</span>
        </>
      ),
    })),
    ...firstOf(rejections, ({ source, code, count, diagnosis, lastDetail, lastAt }) => ({
      key: `rejection ${source} ${code}`,
      ...{ kind: 'signature', colour: 'retrying', path: '/rejections', verb: words.fix, at: lastAt },
      sentence: (
        <>
          <b>{source}</b> {words.refused(count)}{' '}
          <span class="muted">{firstLine(diagnosis || lastDetail)}</span>
        </>
      ),
    })),
    ...firstOf(unattended, ({ source, subscriber, jobs }) => ({
      key: `unattended ${source} ${subscriber}`,
      ...{ kind: 'unattended', colour: 'retrying', path: '/destinations', verb: words.look },
      sentence: (
        <>
          <b>{subscriber}</b> {words.unserved} <span class="muted">{words.jobsWait(jobs)}</span>
        </>
      ),
    })),
    ...firstOf(alerts, ({ id, rule, source, subscriber, says, openedAt }) => ({
      key: `alert ${id}`,
      ...{ kind: rule, colour: 'retrying', path: '/sources', verb: words.look, at: openedAt },
      sentence: (
        <>
          <b>{subscriber || source}</b>: {says}
        </>
      ),
    })),
  ]
}

/** The time is outside the sentence, which may be truncated. */
function Need({ kind, colour, path, verb, sentence, at, more }: NeedProps) {
  return (
    <div class="card need">
      <span class={`pill ${colour}`}>{words.labels[kind] ?? kind}</span>
      <span>{sentence}</span>
      <span class="note muted">
        {at !== undefined && <Time at={at} />}
        {at !== undefined && more > 0 && ' · '}
        {more > 0 && words.more(more, more >= COUNTED - SHOWN)}
      </span>
      <a class="button" href={href(path)}>
        {verb}
      </a>
    </div>
  )
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}
