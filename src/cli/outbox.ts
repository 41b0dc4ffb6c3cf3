import {
  listMessages,
  type MessageQuery,
  type MessageRow,
  messageById,
  messageStates,
  replayFailedMessages,
  replayMessage,
  retryLane,
} from '../operate/outbox.ts'
import { requireTenant } from '../operate/sources.ts'
import { reasonOf } from './actor.ts'
import { parseChoice, unknownVerb } from './choices.ts'
import { type Command, ledgerOptions, parse, parseLimit, usageError } from './command.ts'
import { longWork } from './long-work.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, safeBlock, table } from './print.ts'
import { stateText } from './state-text.ts'
import { styleOf } from './style.ts'
import { type TenantColumn, tenantColumn, tenantOption } from './tenant-column.ts'

const usage = `hookonce outbox [--state waiting|published|failed] [--topic TOPIC] [--tenant NAME] [--limit N] [--json] [--dir DIR]
hookonce outbox show <message id, or its beginning> [--json] [--dir DIR]
hookonce outbox replay <message id, or its beginning> [--json] [--dir DIR]
hookonce outbox retry <message id, or its beginning> [--json] [--dir DIR]
hookonce outbox replay --failed [--topic TOPIC] [--tenant NAME] [--limit N] [--dry-run] [--json] [--dir DIR]

Lists messages, newest first: waiting and failed ones, or those in one state. Replay publishes a finished message again
under its old id, after the waiting messages with the same key. --dry-run only lists the failed messages. Retry tries a
waiting message now, with those before it, before its scheduled time.`

const options = {
  ...ledgerOptions,
  state: { type: 'string' },
  topic: { type: 'string' },
  ...tenantOption,
  'dry-run': { type: 'boolean', default: false },
  limit: { type: 'string' },
  failed: { type: 'boolean', default: false },
} as const

interface OutboxOptions {
  readonly dir: string
  readonly json: boolean
  readonly topic: string | undefined
  readonly tenant?: string | undefined
  readonly 'dry-run': boolean
  readonly limit: number
}

const VERBS: readonly string[] = ['show', 'replay', 'retry']

export const outbox: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, options)
    const [verb, id] = positionals
    const limit = parseLimit({ usage }, values.limit ?? (verb ? '1000' : '50'))
    const given = { ...values, topic: values.topic, limit }
    if (values['dry-run'] && !values.failed)
      throw usageError({ usage }, '--dry-run goes with replay --failed')
    if (verb === undefined) return list(given, values.state)
    if (verb === 'show' && id) return show(given, id)
    if (verb === 'replay' && id && !values.failed) return replayOne(given, id)
    if (verb === 'retry' && id && !values.failed) return retryOne(given, id)
    if (verb === 'replay' && !id && values.failed) return replayFailed(given)
    if (!VERBS.includes(verb)) throw unknownVerb({ usage }, verb, VERBS)
    throw usageError({ usage }, 'give show, replay or retry and one message, or replay --failed')
  },
}

async function list(options: OutboxOptions, given: string | undefined): Promise<void> {
  const choice = { option: '--state', words: messageStates }
  const state = given === undefined ? undefined : parseChoice({ usage }, { ...choice, text: given })
  await printMessages(options, state)
}

async function printMessages(
  { dir, json, topic, tenant, limit }: OutboxOptions,
  state: MessageQuery['state'],
): Promise<void> {
  const { rows, column } = await withLedger(dir, async (ledger) => {
    await requireTenant(ledger, tenant)
    const rows = await listMessages(ledger, { state, topic, tenant, limit })
    return { rows, column: await tenantColumn(ledger) }
  })
  if (json) return printJson(rows)
  if (rows.length === 0)
    return print(state ? `no message is ${state}` : 'no message waits, and none has failed')
  const head = ['COMMITTED', ...column.head, 'TOPIC', 'KEY', 'STATE', 'ATTEMPTS', 'MESSAGE', 'REASON']
  print(
    table(
      head,
      rows.map((row) => cells(row, column)),
    ),
  )
}

function cells(row: MessageRow, column: TenantColumn): string[] {
  return [
    clock(row.createdAt),
    ...column.cell(row.tenant),
    safe(row.topic),
    safe(row.key ?? '-').slice(0, 40),
    stateText(row.state, styleOf(process.stdout)),
    String(row.attempts),
    row.id,
    safe(row.reason ?? '').slice(0, 100),
  ]
}

async function show({ dir, json }: OutboxOptions, id: string): Promise<void> {
  const { shard, ...message } = await withLedger(dir, (ledger) => messageById(ledger, id))
  // The text has every digit. A parsed number may be rounded.
  if (json)
    return printJson({ ...message, payload: JSON.parse(message.payload), payloadText: message.payload })
  const facts: [string, string][] = [
    ['message', message.id],
    ['tenant', safe(message.tenant)],
    ['topic', safe(message.topic)],
    ['key', safe(message.key ?? '-')],
    ['receipt', message.receiptId],
    ['committed', clock(message.createdAt)],
    ['state', `${message.state}${message.finishedAt ? `, ${clock(message.finishedAt)}` : ''}`],
    ['attempts', String(message.attempts)],
    ['due', message.dueAt ? clock(message.dueAt) : '-'],
    ['reason', safe(message.reason ?? '-')],
    ...Object.entries(message.headers ?? {}).map(([name, value]): [string, string] => [
      'header',
      safe(`${name}: ${value}`),
    ]),
  ]
  print(
    [...facts.map(([name, value]) => `${name.padEnd(12)}${value}`), '', safeBlock(message.payload)].join(
      '\n',
    ),
  )
}

async function replayOne({ dir, json }: OutboxOptions, id: string): Promise<void> {
  const result = await withLedger(dir, (ledger) => replayMessage(ledger, id, reasonOf()))
  if (json) return printJson(result)
  print(
    result.replayed
      ? `${result.messageId} waits to be published again`
      : `nothing to replay: ${result.messageId} is not finished yet`,
  )
}

async function retryOne({ dir, json }: OutboxOptions, id: string): Promise<void> {
  const result = await withLedger(dir, (ledger) => retryLane(ledger, id, reasonOf()))
  if (json) return printJson(result)
  print(
    result.retried
      ? `${result.messageId} is due now, with the messages before it`
      : `nothing to try: ${result.messageId} is not waiting, is already due, or a relay is trying it`,
  )
}

async function replayFailed(options: OutboxOptions): Promise<void> {
  if (options['dry-run']) return printMessages(options, 'failed')
  const { dir, json, topic, tenant, limit } = options
  const { result: messages, wasInterrupted } = await withLedger(dir, async (ledger) => {
    await requireTenant(ledger, tenant)
    return longWork('messages', (watch) =>
      replayFailedMessages(ledger, { topic, tenant, limit }, reasonOf(), watch),
    )
  })
  if (json) return printJson({ messages, isComplete: !wasInterrupted })
  if (messages === 0 && !wasInterrupted) return print('no message is failed')
  print(`${messages} failed ${messages === 1 ? 'message waits' : 'messages wait'} to be published again`)
  if (wasInterrupted) print('stopped before the end: run the same command again to continue')
}
