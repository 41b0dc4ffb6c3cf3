import type { ResponseOf } from '../client/index.ts'

export type Chain = ResponseOf<'GET', '/events/{id}'>
type Job = Chain['jobs'][number]

/** Explains the state of an event and the next action, in sentences for people and agents. */
export function explain(chain: Chain): string {
  return [recorded(chain), ...chain.jobs.map((job) => explainJob(chain, job)), ...noJobs(chain)].join('\n')
}

function recorded({ receipt, deliveries, reconciled, imported }: Chain): string {
  const { source, eventType, eventKey, id } = receipt
  const name = `${source} ${eventType} ${eventKey} (receipt ${id})`
  if (imported) return `${name} was imported: another system had processed it, so nothing runs here.`
  const origin = reconciled
    ? 'was listed by the API of its provider'
    : `was delivered ${times(deliveries.count)}`
  const repeats = deliveries.count > 1 ? ', and recorded once' : ''
  const mismatches =
    deliveries.mismatches > 0
      ? ` ${deliveries.mismatches} of the deliveries had another body: the first body counts.`
      : ''
  return `${name} ${origin}${repeats}; first at ${receipt.receivedAt}.${mismatches}`
}

function noJobs({ jobs, imported }: Chain): string[] {
  return jobs.length > 0 || imported ? [] : ['No subscriber wanted it, so nothing ran.']
}

function explainJob(chain: Chain, job: Job): string {
  const done = doneBy(chain, job)
  return [`Subscriber ${job.subscriber}: ${stateText(chain, job)}`, ...done].join(' ')
}

function stateText(chain: Chain, job: Job): string {
  const { state, attempt, reason, dueAt, held, circuit, holder } = job
  switch (state) {
    case 'processed':
      return `processed at ${job.finishedAt}, in attempt ${attempt}${reason ? ` (${reason})` : ''}.`
    case 'failed':
      return `failed after ${attempt} attempts. ${lastError(chain, job)} Fix the cause, look at plan_event_replay, then replay the event.`
    case 'attention':
      return `waits for a decision. ${unknownEffects(chain, job)}`
    case 'processing':
      return holder?.isAlive === false
        ? `its worker ${holder.host} pid ${holder.pid} is gone; the job runs again when its lease has expired.`
        : `runs now, attempt ${attempt}${holder ? `, on ${holder.host} pid ${holder.pid}` : ''}.`
    default:
      if (held) return 'waits, because it is paused.'
      if (circuit) return `waits, because its circuit is ${circuit.state}. ${lastError(chain, job)}`
      if (dueAt === null) return 'waits for an earlier event with the same order key.'
      if (state === 'retrying') return `waits for its next attempt at ${dueAt}. ${lastError(chain, job)}`
      return `has waited for a worker since ${job.bornAt}.`
  }
}

function lastError({ attempts }: Chain, { subscriber, reason }: Job): string {
  const failures = attempts.filter((one) => one.subscriber === subscriber && one.error !== null)
  const last = failures.toSorted((a, b) => a.fence - b.fence).at(-1)
  const error = last?.error ?? reason
  if (error === null) return 'No error is recorded.'
  const [where] = last?.stack?.split('\n') ?? []
  return `The last error: ${JSON.stringify(error)}${where ? `, thrown ${where.trim()}` : ''}.`
}

function unknownEffects({ effects }: Chain, { subscriber, reason }: Job): string {
  const unknown = effects.filter(
    (effect) => effect.subscriber === subscriber && ['unknown', 'started'].includes(effect.state),
  )
  if (unknown.length === 0) return `${reason ?? ''} list_attention shows the effect that it waits for.`.trim()
  return unknown
    .map(
      ({ key, mode, startedAt, downstreamKey }) =>
        `The outcome of the effect ${JSON.stringify(key)} (${mode}, called at ${startedAt}) is unknown: look the call up at the called service by its idempotency key ${JSON.stringify(downstreamKey)}, then a person decides: confirm_done, confirm_not_done, retry_same_key or abandon.`,
    )
    .join(' ')
}

/** The parts of an event that a replay would not repeat. */
function doneBy({ steps, effects, messages }: Chain, { subscriber }: Job): string[] {
  const ofJob = <Item extends { readonly subscriber: string }>(items: readonly Item[]): Item[] =>
    items.filter((item) => item.subscriber === subscriber)
  const done = [
    ...ofJob(steps).map(({ name }) => `step ${name}`),
    ...ofJob(effects)
      .filter(({ state }) => state === 'done')
      .map(({ key }) => `effect ${key}`),
    ...ofJob(messages).map(({ topic, state }) => `message ${topic} (${state})`),
  ]
  return done.length === 0 ? [] : [`Done, and not repeated by a replay: ${done.join(', ')}.`]
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}
