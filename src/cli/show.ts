import type { EffectStory } from '../ledger/effects/effects.ts'
import type { DecisionRow } from '../ledger/read/audit.ts'
import {
  type AttemptRow,
  type JobRow,
  type ReceiptRow,
  type ReceiptStory,
  receiptStory,
} from '../ledger/read/receipts.ts'
import { type Registered, registered } from '../ledger/read/registered.ts'
import { receiptById } from '../operate/replay.ts'
import { knownSecretHeaders } from '../sources/catalogue/index.ts'
import { withoutSecrets } from '../sources/headers.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { lookingIn } from './open-ledger.ts'
import { isWaiting, type Paused, pausedLine, pausedOf } from './paused-line.ts'
import { clock, print, printJson, safe, safeBlock, table } from './print.ts'

const usage = `hookonce show <receipt id, or its beginning> [--json] [--dir DIR]

Shows one event: its deliveries, jobs, attempts, errors and body.`

export const show: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 1 }, args, ledgerOptions)
    const [id] = positionals
    if (!id) throw usageError({ usage }, 'which receipt?')
    const { receipt, story } = await lookingIn(values.dir, async (ledger) => {
      const receipt = await receiptById(ledger, id)
      const story = await receiptStory(ledger.pool, ledger.shards, receipt)
      return { receipt, story: { ...story, paused: pausedFor(receipt, await registered(ledger)) } }
    })
    if (values.json) printJson(asJson(await withoutKnownSecrets(receipt), story))
    else print(asText(receipt, story))
  },
}

/**
 * `show` does not know the source. It leaves out every header by which a provider of the catalogue
 * sends its secret.
 */
async function withoutKnownSecrets(receipt: ReceiptRow): Promise<ReceiptRow> {
  if (receipt.headers === null) return receipt
  const names = await knownSecretHeaders()
  const withholds = (name: string): boolean => names.has(name.toLowerCase())
  return { ...receipt, headers: withoutSecrets(receipt.headers, { withholds }) }
}

interface ToldStory extends ReceiptStory {
  /** Its source, or subscribers of that. */
  readonly paused: readonly Paused[]
}

function pausedFor({ tenant, source }: ReceiptRow, known: readonly Registered[]): Paused[] {
  return pausedOf(known).filter((one) => one.tenant === tenant && one.source === source)
}

function holds({ subscriber }: Paused, job: JobRow): boolean {
  return isWaiting(job.state) && (subscriber === null || subscriber === job.subscriber)
}

function asJson({ body, bodyExpired, shard, ...receipt }: ReceiptRow, story: ToldStory): unknown {
  const readable = bodyExpired ? null : body
  return {
    ...receipt,
    headers: bodyExpired ? null : receipt.headers,
    deliveries: {
      count: 1 + (story.duplicates?.count ?? 0),
      firstAt: receipt.receivedAt,
      lastAt: story.duplicates?.lastAt ?? receipt.receivedAt,
      mismatches: story.duplicates?.mismatches ?? 0,
    },
    // Held: it waits because its source or its subscriber is paused.
    jobs: story.jobs.map((job) => ({ ...job, held: story.paused.some((one) => holds(one, job)) })),
    attempts: story.attempts,
    effects: story.effects.map(({ subscriberId: _, ...effect }) => effect),
    decisions: story.decisions,
    // Bodies are bytes: base64 always holds them, and text where it is text.
    body: readable?.toString('utf8') ?? null,
    bodyBase64: readable?.toString('base64') ?? null,
  }
}

function asText(
  receipt: ReceiptRow,
  { jobs, attempts, duplicates, effects, decisions, paused }: ToldStory,
): string {
  const facts: [string, string][] = [
    ['receipt', receipt.id],
    ['source', receipt.source],
    ['type', safe(receipt.eventType)],
    ['event key', safe(receipt.eventKey)],
    ['object', safe(receipt.objectId ?? '-')],
    ['occurred', receipt.occurredAt ? clock(receipt.occurredAt) : '-'],
    ['received', `${clock(receipt.receivedAt)}, verified with secret ${receipt.secret}`],
    [
      'deliveries',
      duplicates
        ? `${1 + duplicates.count}, the last at ${clock(duplicates.lastAt)}${duplicates.mismatches > 0 ? `; ${duplicates.mismatches} with another body` : ''}`
        : '1',
    ],
  ]
  const holding = paused.filter((one) => jobs.some((job) => holds(one, job)))
  return [
    ...facts.map(([name, value]) => `${name.padEnd(12)}${value}`),
    '',
    jobs.length === 0
      ? 'no jobs: no subscriber wanted it'
      : table(
          ['JOB', 'STATE', 'ATTEMPT', 'CRASHES', 'REASON'],
          jobs.map((job) => [
            safe(job.subscriber),
            job.state,
            String(job.attempt),
            String(job.crashes),
            safe(job.reason ?? ''),
          ]),
        ),
    ...holding.map(pausedLine),
    ...(attempts.length === 0
      ? []
      : ['', table(['ATTEMPT OF', 'STARTED', 'TOOK', 'OUTCOME', 'ERROR'], attempts.map(attemptCells))]),
    ...(effects.length === 0
      ? []
      : ['', table(['EFFECT', 'MODE', 'STATE', 'EPOCH', 'STARTED', 'WHY'], effects.map(effectCells))]),
    ...(decisions.length === 0
      ? []
      : ['', table(['DECIDED', 'BY', 'WHAT', 'ON', 'WHY'], decisions.map(decisionCells))]),
    '',
    bodyText(receipt),
  ].join('\n')
}

function attemptCells(attempt: AttemptRow): string[] {
  const took = attempt.endedAt ? `${attempt.endedAt.getTime() - attempt.startedAt.getTime()} ms` : '-'
  return [
    safe(attempt.subscriber),
    clock(attempt.startedAt),
    took,
    attempt.outcome,
    safe(attempt.error ?? ''),
  ]
}

function effectCells({ key, mode, state, epoch, startedAt, reason }: EffectStory): string[] {
  return [safe(key), mode, state, String(epoch), clock(startedAt), safe(reason ?? '')]
}

function decisionCells({ at, actor, action, subject, why }: DecisionRow): string[] {
  return [clock(at), safe(actor), action, safe(subject), safe(why)]
}

function bodyText({ body, bodyExpired }: ReceiptRow): string {
  if (body === null || bodyExpired) return 'the body is past its retention'
  return safeBlock(body.toString('utf8'))
}
