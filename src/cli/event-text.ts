import {
  type AttemptRow,
  type AuditRow,
  type ChainEffect,
  type ChainJob,
  type ChainMessage,
  type Deliveries,
  type EventChain,
  isHolding,
} from '../operate/receipt.ts'
import { durationText } from './duration-text.ts'
import { pausedLine } from './paused-line.ts'
import { clock, safe, safeBlock, table } from './print.ts'
import { stateText } from './state-text.ts'
import { styleOf } from './style.ts'

const style = styleOf(process.stdout)

export interface EventTextOptions {
  /** Whether to show stack traces. */
  readonly stacks: boolean
}

/** The whole chain of one event, for people. */
export function eventText({ receipt, paused, ...chain }: EventChain, { stacks }: EventTextOptions): string {
  const { jobs, asOf } = chain
  const facts: [string, string][] = [
    ['receipt', receipt.id],
    ...(receipt.tenant === 'default' ? [] : [['tenant', safe(receipt.tenant)] satisfies [string, string]]),
    ['source', safe(receipt.source)],
    ['type', safe(receipt.eventType)],
    ['event key', safe(receipt.eventKey)],
    ['object', safe(receipt.objectId ?? '-')],
    ['occurred', receipt.occurredAt ? clock(receipt.occurredAt) : '-'],
    ['received', `${clock(receipt.receivedAt)}, ${originText(receipt.secret, chain)}`],
    ['deliveries', deliveriesText(chain.deliveries)],
  ]
  return [
    ...facts.map(([name, value]) => `${name.padEnd(12)}${value}`),
    '',
    jobs.length === 0
      ? `no jobs: ${chain.imported ? 'another system had processed it' : 'no subscriber wanted it'}`
      : table(
          ['JOB', 'STATE', 'ATTEMPTS', 'CRASHES', 'NEXT', 'REASON'],
          jobs.map((job) => jobCells(job, asOf)),
        ),
    ...paused.filter((one) => jobs.some((job) => isHolding(one, job))).map(pausedLine),
    ...section(
      ['ATTEMPT', 'JOB', 'STARTED', 'TOOK', 'OUTCOME', 'ERROR'],
      chain.attempts.map((attempt) => attemptCells(attempt, asOf)),
    ),
    ...(stacks ? chain.attempts.flatMap(stackLines) : []),
    ...section(['STEP', 'JOB'], jobs.flatMap(stepCells)),
    ...section(['EFFECT', 'MODE', 'STATE', 'EPOCH', 'STARTED', 'WHY'], chain.effects.map(effectCells)),
    ...section(['MESSAGE', 'TOPIC', 'KEY', 'STATE', 'JOB'], chain.messages.map(messageCells)),
    ...section(['DECIDED', 'BY', 'WHAT', 'ON', 'WHY'], chain.decisions.map(decisionCells)),
    '',
    chain.imported ? 'imported without a body' : bodyText(receipt),
  ].join('\n')
}

function bodyText({ body, unreadable }: EventChain['receipt']): string {
  if (unreadable) return `the body cannot be read: ${safe(unreadable.message)}\n${unreadable.advice}`
  return body === null ? 'the body is past its retention' : safeBlock(body.toString('utf8'))
}

/** A table after an empty line. Nothing if it would have no rows. */
function section(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : ['', table(head, rows)]
}

function originText(
  secret: number,
  { reconciled, imported }: Pick<EventChain, 'reconciled' | 'imported'>,
): string {
  if (imported) return 'imported by `hookonce import`'
  return reconciled
    ? "reconciled: read from the provider's API, no signature was checked"
    : `verified with secret ${secret}`
}

function deliveriesText({ count, lastAt, mismatches }: Deliveries): string {
  if (count === 0) return 'none'
  if (count === 1) return '1'
  return `${count}, the last at ${clock(lastAt)}${mismatches > 0 ? `; ${mismatches} with another body` : ''}`
}

function jobCells(job: ChainJob, asOf: Date): string[] {
  const { subscriber, state, attempt, crashes, reason } = job
  return [
    safe(subscriber),
    stateText(state, style),
    String(attempt),
    String(crashes),
    nextText(job, asOf),
    safe(reason ?? ''),
  ]
}

/** The next action on a job, and its time. */
function nextText(job: ChainJob, asOf: Date): string {
  switch (job.state) {
    case 'processing':
      return runningText(job, asOf)
    case 'received':
    case 'retrying':
      return waitingText(job, asOf)
    case 'attention':
      return 'waits for a decision (hookonce attention list)'
    default:
      return '-'
  }
}

function runningText({ holder, startedAt }: ChainJob, asOf: Date): string {
  if (!holder) return 'runs now'
  const worker = safe(`${holder.host} ${holder.pid}`)
  if (!holder.isAlive) return `its worker ${worker} has ended: another worker takes the job over`
  return startedAt ? `runs on ${worker} for ${durationText(since(startedAt, asOf))}` : `runs on ${worker}`
}

function waitingText({ held, circuit, dueAt, attempt }: ChainJob, asOf: Date): string {
  if (held) return 'held: paused'
  if (circuit) {
    const probe = circuit.nextProbeAt ? `, next probe ${clock(circuit.nextProbeAt)}` : ''
    return `held: its circuit is ${circuit.state}${probe}`
  }
  if (dueAt === null) return 'waits for earlier events with its order key'
  const waits = dueAt.getTime() - asOf.getTime()
  if (waits > 0) return `attempt ${attempt + 1} in ${durationText(waits)}, at ${clock(dueAt)}`
  return `attempt ${attempt + 1} has been due for ${durationText(-waits)}`
}

function since(start: Date, asOf: Date): number {
  return Math.max(0, asOf.getTime() - start.getTime())
}

function attemptCells(attempt: AttemptRow, asOf: Date): string[] {
  const { subscriber, number, startedAt, outcome, error } = attempt
  const isHandedBack = outcome === 'returned' && attempt.endedAt === null
  return [
    // Not an attempt number: the next run gets the same number.
    isHandedBack ? '-' : String(number),
    safe(subscriber),
    clock(startedAt),
    tookText(attempt, asOf),
    stateText(outcome, style),
    safe(error ?? (isHandedBack ? 'handed back before it ended: it does not count as an attempt' : '')),
  ]
}

function stackLines({ number, subscriber, error, stack }: AttemptRow): string[] {
  if (error === null) return []
  const lines = stack === null ? ['no stack was recorded'] : safeBlock(stack).split('\n')
  return ['', safe(`attempt ${number} of ${subscriber}: ${error}`), ...lines.map((line) => `  ${line}`)]
}

/**
 * When a worker dies, the end of its attempt is unknown. `endedAt` is then the time of the rescue.
 */
function tookText({ startedAt, endedAt, outcome }: AttemptRow, asOf: Date): string {
  if (outcome === 'processing') return `${durationText(since(startedAt, asOf))} so far`
  if (!endedAt) return '-'
  const took = durationText(since(startedAt, endedAt))
  return outcome === 'crashed' || outcome === 'returned' ? `up to ${took}` : took
}

function stepCells({ subscriber, steps }: ChainJob): string[][] {
  return steps.map((step) => [safe(step), safe(subscriber)])
}

function effectCells({ key, mode, state, epoch, startedAt, reason }: ChainEffect): string[] {
  return [safe(key), mode, state, String(epoch), clock(startedAt), safe(reason ?? '')]
}

function messageCells({ id, topic, key, state, subscriber }: ChainMessage): string[] {
  return [id, safe(topic), safe(key ?? '-'), state, safe(subscriber)]
}

function decisionCells({ at, actor, action, subject, why }: AuditRow): string[] {
  return [clock(at), safe(actor), action, safe(subject), safe(why)]
}
