import { formatClock, formatDuration } from '../../format.ts'
import { colourOf, State } from '../../parts/state.tsx'
import { now, Time } from '../../parts/time.tsx'
import { texts } from '../../texts.ts'
import {
  type Axis,
  axisOf,
  type Chain,
  deliveryLanes,
  type JobGroup,
  jobGroups,
  type Lane,
  type Wait,
} from './timeline.ts'

const words = texts.event

/** Delivery, job, attempt, step, effect and message on one time axis. */
export function Timeline({ chain }: { readonly chain: Chain }) {
  const deliveries = deliveryLanes(chain)
  const groups = jobGroups(chain)
  const lanes = [
    ...deliveries,
    ...groups.flatMap(({ lanes }) => lanes.filter((lane) => lane.kind !== 'wait')),
  ]
  const isRunning = lanes.some(({ end }) => end === undefined)
  const axis = axisOf(lanes, isRunning ? now.value : 0)
  const begin = Date.parse(chain.receipt.receivedAt)
  return (
    <section class="card timeline" aria-label={words.timeline}>
      <div class="group">
        {words.deliveries}
        <span class="muted right regular">{words.from(chain.receipt.source)}</span>
      </div>
      {deliveries.map((lane) => (
        <DeliveryLane key={lane.key} lane={lane} chain={chain} axis={axis} />
      ))}
      {groups.map((group) => (
        <Group key={group.job.subscriber} group={group} axis={axis} begin={begin} />
      ))}
      {groups.length === 0 && <p class="panel-note">{chain.imported ? words.importedHint : words.noJobs}</p>}
    </section>
  )
}

interface DeliveryLaneProps {
  readonly lane: Lane
  readonly chain: Chain
  readonly axis: Axis
}

function DeliveryLane({ lane, chain, axis }: DeliveryLaneProps) {
  const { receipt } = chain
  const isFirst = lane.key === 'first'
  const after = `+${formatDuration(Math.max(0, lane.start - Date.parse(receipt.receivedAt)))}`
  const name = isFirst
    ? words.recorded
    : lane.note === 'first-repeat'
      ? words.firstRepeat
      : words.repeats(Number(lane.name))
  const note = deliveryNote(lane, chain)
  return (
    <div class="lane" title={title([name, note, after, formatClock(new Date(lane.start))])}>
      <i class={`dot ${colourOf(lane.state)}`} />
      <span class="what">
        <span>{name}</span>
        {note !== '' && <span class="note muted">· {note}</span>}
      </span>
      <Bar lane={lane} axis={axis} />
      <span class="d">{isFirst ? <Time at={receipt.receivedAt} as="clock" /> : after}</span>
    </div>
  )
}

function deliveryNote({ note }: Lane, { receipt, deliveries }: Chain): string {
  if (note === 'imported') return words.imported
  if (note === 'reconciled') return words.reconciled
  if (note === 'recorded') return words.matches(receipt.secret)
  return note === 'duplicate' ? words.sameBody(deliveries.mismatches) : ''
}

/** What the row may cut off, shown on hover. */
function title(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' · ')
}

function Group({
  group,
  axis,
  begin,
}: {
  readonly group: JobGroup
  readonly axis: Axis
  readonly begin: number
}) {
  const { job, lanes } = group
  return (
    <>
      <div class="group">
        <span class="cut">{job.subscriber}</span>
        <State state={job.outcome} label={words.jobState(job)} isPlain />
        {job.reason !== null && job.state === 'processed' && (
          <span class="muted regular cut">{job.reason}</span>
        )}
      </div>
      {lanes.map((lane) =>
        lane.kind === 'wait' ? (
          <Gap key={lane.key} wait={lane} job={job} />
        ) : (
          <PartLane key={lane.key} lane={lane} axis={axis} begin={begin} />
        ),
      )}
    </>
  )
}

function Gap({ wait, job }: { readonly wait: Wait; readonly job: JobGroup['job'] }) {
  const { why, start, end } = wait
  if (why === 'retry' || why === 'queued')
    return <div class="gap">{words.waited[why](formatDuration((end ?? start) - start))}</div>
  if (why === 'next' && end !== undefined)
    return (
      <div class="gap">
        {words.nextAttempt} <Time at={new Date(end).toISOString()} />
      </div>
    )
  if (why === 'circuit' && job.circuit)
    return (
      <div class="gap">
        {words.heldByCircuit(job.circuit.state)}
        {end !== undefined && (
          <>
            {words.nextProbe} <Time at={new Date(end).toISOString()} />
          </>
        )}
      </div>
    )
  return <div class="gap">{why === 'paused' ? words.heldByPause : words.waitsForOrder}</div>
}

function PartLane({
  lane,
  axis,
  begin,
}: {
  readonly lane: Lane
  readonly axis: Axis
  readonly begin: number
}) {
  const isAttempt = lane.kind === 'attempt'
  const kind = isAttempt ? words.attempt(lane.name) : words.kinds[lane.kind]
  const note = lane.error === undefined ? words.notes(lane.kind, lane.note ?? '') : firstLine(lane.error)
  const colour = lane.error === undefined || lane.state === 'processed' ? 'muted' : colourOf(lane.state)
  const after = `+${formatDuration(Math.max(0, lane.start - begin))}`
  return (
    <div
      class={isAttempt ? 'lane' : 'lane sub'}
      title={title([
        isAttempt ? kind : `${kind} ${lane.name}`,
        lane.error ?? note,
        after,
        formatClock(new Date(lane.start)),
      ])}
    >
      {isAttempt ? <i class={`dot ${colourOf(lane.state)}`} /> : <span />}
      <span class="what">
        <span>{kind}</span>
        {!isAttempt && <code>{lane.name}</code>}
        {note !== '' && <span class={`note ${colour}`}>{note}</span>}
      </span>
      <Bar lane={lane} axis={axis} />
      <span class="d">{durationOf(lane)}</span>
    </div>
  )
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}

function durationOf({ kind, start, end }: Lane) {
  if (kind === 'step') return ''
  if (end === undefined) return formatDuration(Math.max(0, now.value - start))
  return formatDuration(end - start)
}

/** A minimum width, so that even the shortest work is visible. */
const MIN_BAR = 0.02

function Bar({ lane, axis }: { readonly lane: Lane; readonly axis: Axis }) {
  const left = Math.min(axis(lane.start), 1 - MIN_BAR)
  const right = axis(lane.end ?? now.value)
  const width = Math.max(MIN_BAR, right - left)
  return (
    <span class={`track ${colourOf(lane.state)}`} aria-hidden="true">
      <span class="bar" style={{ left: `${left * 100}%`, width: `${width * 100}%` }} />
    </span>
  )
}
