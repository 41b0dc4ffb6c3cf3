import type { ResponseOf } from 'hookonce/client'

/*
 * The chain of one event as lanes on one time axis. Long times in which nothing ran are collapsed
 * on the axis, and named between the lanes.
 */

export type Chain = ResponseOf<'GET', '/events/{id}'>

export interface Lane {
  readonly key: string
  readonly kind: 'delivery' | 'attempt' | 'step' | 'effect' | 'message'
  /** The state that determines its colour. */
  readonly state: string
  /** The name of a step, an effect or a topic, or the number of an attempt. */
  readonly name: string
  readonly note?: string | undefined
  readonly error?: string | undefined
  /** The start, in milliseconds. */
  readonly start: number
  /** The end. Undefined: it has not ended. */
  readonly end: number | undefined
}

export interface Wait {
  readonly key: string
  readonly kind: 'wait'
  /**
   * `queued`: before the first attempt. `retry`: between two attempts. `next`: until the next due
   * attempt. `circuit`: until the next probe, if its time is known.
   */
  readonly why: 'queued' | 'retry' | 'next' | 'order' | 'paused' | 'circuit'
  readonly start: number
  readonly end: number | undefined
}

export interface JobGroup {
  readonly job: Chain['jobs'][number]
  readonly lanes: readonly (Lane | Wait)[]
}

/** Times without work are named if they are longer than this. */
const NAMED_WAIT_MS = 1_000

export function jobGroups(chain: Chain): readonly JobGroup[] {
  return chain.jobs.map((job) => ({ job, lanes: lanesOf(chain, job) }))
}

function lanesOf(chain: Chain, job: JobGroup['job']): (Lane | Wait)[] {
  const { subscriber } = job
  const attempts = chain.attempts
    .filter((one) => one.subscriber === subscriber)
    .sort((a, b) => a.fence - b.fence)
  const parts = partsOf(chain, subscriber)
  const lanes: (Lane | Wait)[] = []
  let idleSince = Date.parse(job.bornAt)
  for (const [place, attempt] of attempts.entries()) {
    const start = Date.parse(attempt.startedAt)
    if (start - idleSince >= NAMED_WAIT_MS)
      lanes.push({
        key: `wait ${attempt.fence}`,
        kind: 'wait',
        why: place === 0 ? 'queued' : 'retry',
        start: idleSince,
        end: start,
      })
    lanes.push({
      key: `attempt ${attempt.fence}`,
      kind: 'attempt',
      state: stateOf(attempt.outcome),
      name: String(attempt.number),
      note: attempt.outcome,
      error: attempt.error ?? undefined,
      start,
      end: attempt.endedAt === null ? undefined : Date.parse(attempt.endedAt),
    })
    const next = attempts[place + 1]
    const until = next ? Date.parse(next.startedAt) : Number.POSITIVE_INFINITY
    const from = place === 0 ? Number.NEGATIVE_INFINITY : start
    lanes.push(...parts.flatMap((part) => partIn(part, { from, start, until, end: attempt.endedAt })))
    idleSince = attempt.endedAt === null ? start : Date.parse(attempt.endedAt)
  }
  if (attempts.length === 0) lanes.push(...parts)
  return [...lanes, ...waitOf(job, idleSince)]
}

interface Span {
  /** Work that began before the first attempt is shown under it. */
  readonly from: number
  readonly start: number
  readonly end: string | null
  /** The start of the next attempt. */
  readonly until: number
}

/**
 * A part belongs to the attempt in which it began. An effect whose outcome came in a later attempt
 * is shown under both attempts: called in the first, and called again with the same key in the
 * second.
 */
function partIn(part: Lane, { from, start, end, until }: Span): Lane[] {
  const isBegunHere = part.start >= from && part.start < until
  const isLater = part.kind === 'effect' && part.end !== undefined && end !== null
  if (isBegunHere && isLater && (part.end ?? 0) >= until)
    return [{ ...part, state: 'retrying', note: 'started', error: undefined, end: Date.parse(end ?? '') }]
  // The outcome was not recorded, so the call is assumed to have ended with the attempt.
  if (isBegunHere && part.end === undefined && part.kind === 'effect' && end !== null)
    return [{ ...part, end: Date.parse(end) }]
  if (isBegunHere) return [part]
  const isEndedHere =
    part.kind === 'effect' && part.end !== undefined && part.end >= start && part.end < until
  if (!isEndedHere || part.start >= start) return []
  return [{ ...part, key: `${part.key} again`, note: part.note === 'done' ? 'again' : part.note, start }]
}

/** The reason why an unfinished job does not run now. */
function waitOf(job: JobGroup['job'], start: number): Wait[] {
  if (job.state !== 'received' && job.state !== 'retrying') return []
  const why = job.held ? 'paused' : job.circuit ? 'circuit' : job.dueAt === null ? 'order' : 'next'
  const until = { paused: null, circuit: job.circuit?.nextProbeAt ?? null, order: null, next: job.dueAt }[why]
  return [{ key: 'wait', kind: 'wait', why, start, end: until === null ? undefined : Date.parse(until) }]
}

function partsOf(chain: Chain, subscriber: string): Lane[] {
  const isOwn = (one: { readonly subscriber: string }): boolean => one.subscriber === subscriber
  const steps = chain.steps.filter(isOwn).map(
    ({ name, at }): Lane => ({
      key: `step ${name}`,
      kind: 'step',
      state: 'processed',
      name,
      start: Date.parse(at),
      end: Date.parse(at),
    }),
  )
  const effects = chain.effects.filter(isOwn).map(
    ({ key, epoch, state, reason, startedAt, endedAt }): Lane => ({
      key: `effect ${key} ${epoch}`,
      kind: 'effect',
      state: effectState(state),
      name: key,
      note: state,
      error: reason ?? undefined,
      start: Date.parse(startedAt),
      end: endedAt === null ? undefined : Date.parse(endedAt),
    }),
  )
  const messages = chain.messages.filter(isOwn).map(
    ({ id, topic, state, createdAt, finishedAt }): Lane => ({
      key: `message ${id}`,
      kind: 'message',
      state: state === 'waiting' ? 'processing' : state,
      name: topic,
      note: state,
      start: Date.parse(createdAt),
      end: finishedAt === null ? undefined : Date.parse(finishedAt),
    }),
  )
  return [...steps, ...effects, ...messages].sort((a, b) => a.start - b.start)
}

/** An attempt followed by a retry has failed. */
function stateOf(outcome: string): string {
  return outcome === 'retrying' || outcome === 'crashed' ? 'failed' : outcome
}

function effectState(state: string): string {
  if (state === 'done') return 'processed'
  if (state === 'unknown') return 'attention'
  return state === 'started' ? 'processing' : state
}

export function deliveryLanes({ receipt, deliveries, reconciled, imported }: Chain): readonly Lane[] {
  const repeats = deliveries.count - (reconciled || imported ? 0 : 1)
  const at = (time: string) => ({ kind: 'delivery', start: Date.parse(time), end: Date.parse(time) }) as const
  const repeat = { state: 'duplicate', note: 'duplicate' } as const
  const lanes: Lane[] = [
    {
      ...at(receipt.receivedAt),
      key: 'first',
      state: 'processed',
      name: '',
      note: reconciled ? 'reconciled' : imported ? 'imported' : 'recorded',
    },
  ]
  if (repeats > 1 && deliveries.firstRepeatAt !== null)
    lanes.push({ ...at(deliveries.firstRepeatAt), ...repeat, key: 'repeat', name: '1', note: 'first-repeat' })
  if (repeats > 0) lanes.push({ ...at(deliveries.lastAt), ...repeat, key: 'repeats', name: String(repeats) })
  return lanes
}

/** Maps a time to a place on the axis, from 0 to 1. */
export type Axis = (at: number) => number

/** The share of the axis that a collapsed time takes. */
const COLLAPSED = 0.05
/** A time without work is collapsed if it is longer than this share of all work. */
const COLLAPSE_FROM = 0.25

/** An axis on which work keeps its proportions, and long idle times are short. */
export function axisOf(lanes: readonly Pick<Lane, 'kind' | 'start' | 'end'>[], now: number): Axis {
  const busy = united(lanes.flatMap((lane) => busyTimes(lane, now)))
  const [first] = busy
  if (first === undefined) return () => 0
  const work = busy.reduce((sum, [start, end]) => sum + end - start, 0)
  const longest = Math.max(50, work * COLLAPSE_FROM)
  const gaps = busy.slice(1).map(([start], place) => start - (busy[place]?.[1] ?? start))
  const collapsed = gaps.filter((gap) => gap > longest).length
  const real = work + gaps.filter((gap) => gap <= longest).reduce((sum, gap) => sum + gap, 0)
  const perMs = real === 0 ? 0 : (1 - collapsed * COLLAPSED) / real
  const share = (gap: number): number =>
    gap > longest ? Math.max(COLLAPSED, perMs === 0 ? 1 / Math.max(1, collapsed) : 0) : gap * perMs
  const starts: number[] = [0]
  for (const [place, gap] of gaps.entries()) {
    const [from, to] = busy[place] ?? [0, 0]
    starts.push((starts[place] ?? 0) + (to - from) * perMs + share(gap))
  }
  return (at) => {
    const place = busy.findLastIndex(([start]) => start <= at)
    const [from, to] = busy[place] ?? [0, 0]
    const begin = starts[place] ?? 0
    const within = Math.min(at, to) - from
    const gap = gaps[place]
    const beyond = at > to && gap !== undefined ? ((at - to) / gap) * share(gap) : 0
    return Math.max(0, Math.min(1, begin + within * perMs + beyond))
  }
}

/** A message is idle until it is published, so only its two ends count as work. */
function busyTimes({ kind, start, end }: Pick<Lane, 'kind' | 'start' | 'end'>, now: number) {
  const until = Math.max(start, end ?? now)
  const times: [number, number][] = [[start, until]]
  return kind === 'message' ? times.flat().map((at): [number, number] => [at, at]) : times
}

/** Merges intervals that overlap. */
function united(intervals: readonly (readonly [number, number])[]): [number, number][] {
  const sorted = [...intervals].sort(([a], [b]) => a - b)
  const found: [number, number][] = []
  for (const [start, end] of sorted) {
    const last = found.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], end)
    else found.push([start, end])
  }
  return found
}
