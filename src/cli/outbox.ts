import {
  listMessages,
  type MessageRow,
  messageById,
  messageStates,
  replayFailedMessages,
  replayMessage,
} from '../operate/outbox.ts'
import { type Command, ledgerOptions, parse, parseLimit, usageError } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, safeBlock, table } from './print.ts'

const usage = `hookonce outbox [--state waiting|published|failed] [--topic TOPIC] [--limit N] [--json] [--dir DIR]
hookonce outbox show <message id, or its beginning> [--json] [--dir DIR]
hookonce outbox replay <message id, or its beginning> [--json] [--dir DIR]
hookonce outbox replay --failed [--topic TOPIC] [--limit N] [--json] [--dir DIR]

Lists messages, newest first: waiting and failed ones, or those in one state. Replay publishes a finished message again
under its old id, after the waiting messages with the same key.`

const options = {
  ...ledgerOptions,
  state: { type: 'string' },
  topic: { type: 'string' },
  limit: { type: 'string' },
  failed: { type: 'boolean', default: false },
} as const

interface OutboxOptions {
  readonly dir: string
  readonly json: boolean
  readonly topic: string | undefined
  readonly limit: number
}

export const outbox: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, options)
    const [verb, id] = positionals
    const limit = parseLimit({ usage }, values.limit ?? (verb ? '1000' : '50'))
    const given = { ...values, topic: values.topic, limit }
    if (verb === undefined) return list(given, values.state)
    if (verb === 'show' && id) return show(given, id)
    if (verb === 'replay' && id && !values.failed) return replayOne(given, id)
    if (verb === 'replay' && !id && values.failed) return replayFailed(given)
    throw usageError({ usage }, 'give show or replay and one message, or replay --failed')
  },
}

async function list({ dir, json, topic, limit }: OutboxOptions, given: string | undefined): Promise<void> {
  const state = messageStates.find((one) => one === given)
  if (given !== undefined && state === undefined)
    throw usageError({ usage }, `--state is one of ${messageStates.join(', ')}, not "${given}"`)
  const rows = await withLedger(dir, (ledger) => listMessages(ledger, { state, topic, limit }))
  if (json) return printJson(rows)
  if (rows.length === 0) return print(state ? `no message is ${state}` : 'nothing waits, nothing failed')
  print(table(['COMMITTED', 'TOPIC', 'KEY', 'STATE', 'ATTEMPTS', 'MESSAGE', 'REASON'], rows.map(cells)))
}

function cells(row: MessageRow): string[] {
  return [
    clock(row.createdAt),
    safe(row.topic),
    safe(row.key ?? '-').slice(0, 40),
    row.state,
    String(row.attempts),
    row.id,
    safe(row.reason ?? '').slice(0, 100),
  ]
}

async function show({ dir, json }: OutboxOptions, id: string): Promise<void> {
  const { shard, ...message } = await withLedger(dir, (ledger) => messageById(ledger, id))
  if (json) return printJson({ ...message, payload: JSON.parse(message.payload) })
  const facts: [string, string][] = [
    ['message', message.id],
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
      `${name}: ${value}`,
    ]),
  ]
  print(
    [...facts.map(([name, value]) => `${name.padEnd(12)}${value}`), '', safeBlock(message.payload)].join(
      '\n',
    ),
  )
}

async function replayOne({ dir, json }: OutboxOptions, id: string): Promise<void> {
  const result = await withLedger(dir, (ledger) => replayMessage(ledger, id))
  if (json) return printJson(result)
  print(
    result.replayed
      ? `${result.messageId} waits to be published again`
      : `nothing to replay: ${result.messageId} is not finished yet`,
  )
}

async function replayFailed({ dir, json, topic, limit }: OutboxOptions): Promise<void> {
  const messages = await withLedger(dir, (ledger) => replayFailedMessages(ledger, { topic, limit }))
  if (json) printJson({ messages })
  else print(`${messages} failed messages wait to be published again`)
}
