import {
  type AttemptRow,
  type AuditRow,
  type ChainEffect,
  type ChainJob,
  type ChainMessage,
  type Deliveries,
  type EventChain,
  isHolding,
  readEvent,
} from '../operate/receipt.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { pausedLine } from './paused-line.ts'
import { clock, print, printJson, safe, safeBlock, table } from './print.ts'

const usage = `hookonce show <receipt id, or its beginning> [--json] [--dir DIR]

Shows one event: its deliveries, jobs, attempts, errors, steps, effects, messages, decisions and body.`

export const show: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 1 }, args, ledgerOptions)
    const [id] = positionals
    if (!id) throw usageError({ usage }, 'give the id of a receipt')
    const event = await withLedger(values.dir, (ledger) => readEvent(ledger, id))
    if (values.json) printJson(eventJson(event))
    else print(eventText(event))
  },
}

function eventJson({ receipt, paused: _, ...chain }: EventChain): unknown {
  const { body, bodyExpired: __, ...facts } = receipt
  return {
    ...facts,
    ...chain,
    // Base64 holds any body; the text is readable where the body is text.
    body: body?.toString('utf8') ?? null,
    bodyBase64: body?.toString('base64') ?? null,
  }
}

function eventText({ receipt, paused, ...chain }: EventChain): string {
  const { jobs } = chain
  const facts: [string, string][] = [
    ['receipt', receipt.id],
    ['source', receipt.source],
    ['type', safe(receipt.eventType)],
    ['event key', safe(receipt.eventKey)],
    ['object', safe(receipt.objectId ?? '-')],
    ['occurred', receipt.occurredAt ? clock(receipt.occurredAt) : '-'],
    ['received', `${clock(receipt.receivedAt)}, verified with secret ${receipt.secret}`],
    ['deliveries', deliveriesText(chain.deliveries)],
  ]
  return [
    ...facts.map(([name, value]) => `${name.padEnd(12)}${value}`),
    '',
    jobs.length === 0
      ? 'no jobs: no subscriber wanted it'
      : table(['JOB', 'STATE', 'ATTEMPT', 'CRASHES', 'REASON'], jobs.map(jobCells)),
    ...paused.filter((one) => jobs.some((job) => isHolding(one, job))).map(pausedLine),
    ...section(['ATTEMPT OF', 'STARTED', 'TOOK', 'OUTCOME', 'ERROR'], chain.attempts.map(attemptCells)),
    ...section(['STEP', 'JOB'], jobs.flatMap(stepCells)),
    ...section(['EFFECT', 'MODE', 'STATE', 'EPOCH', 'STARTED', 'WHY'], chain.effects.map(effectCells)),
    ...section(['MESSAGE', 'TOPIC', 'KEY', 'STATE', 'JOB'], chain.messages.map(messageCells)),
    ...section(['DECIDED', 'BY', 'WHAT', 'ON', 'WHY'], chain.decisions.map(decisionCells)),
    '',
    receipt.body === null ? 'the body is past its retention' : safeBlock(receipt.body.toString('utf8')),
  ].join('\n')
}

/** A table after an empty line; nothing where it would have no rows. */
function section(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : ['', table(head, rows)]
}

function deliveriesText({ count, lastAt, mismatches }: Deliveries): string {
  if (count === 1) return '1'
  return `${count}, the last at ${clock(lastAt)}${mismatches > 0 ? `; ${mismatches} with another body` : ''}`
}

function jobCells({ subscriber, state, attempt, crashes, reason }: ChainJob): string[] {
  return [safe(subscriber), state, String(attempt), String(crashes), safe(reason ?? '')]
}

function attemptCells({ subscriber, startedAt, endedAt, outcome, error }: AttemptRow): string[] {
  const duration = endedAt ? `${endedAt.getTime() - startedAt.getTime()} ms` : '-'
  return [safe(subscriber), clock(startedAt), duration, outcome, safe(error ?? '')]
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
