import { listMessages, type MessageRow } from '../ledger/read/outbox.ts'
import { messageById, replayFailedMessages, replayMessage } from '../operate/outbox.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { lookingIn } from './open-ledger.ts'
import { clock, print, printJson, safe, safeBlock, table } from './print.ts'

const usage = `hookonce outbox [--state waiting|published|failed] [--topic TOPIC] [--limit N] [--json] [--dir DIR]
hookonce outbox show <message id, or its beginning> [--json] [--dir DIR]
hookonce outbox replay <message id, or its beginning> [--json] [--dir DIR]
hookonce outbox replay --failed [--topic TOPIC] [--limit N] [--json] [--dir DIR]

Lists messages, newest first: those that wait or failed, or those of one state. Replay publishes a finished message
again under its old id, after what waits for the same key.`

const options = {
  ...ledgerOptions,
  state: { type: 'string' },
  topic: { type: 'string' },
  limit: { type: 'string' },
  failed: { type: 'boolean', default: false },
} as const

const STATES = ['waiting', 'published', 'failed'] as const

interface Asked {
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
    const asked = { ...values, topic: values.topic, limit: limitOf(values.limit ?? (verb ? '1000' : '50')) }
    if (verb === undefined) return list(asked, values.state)
    if (verb === 'show' && id) return show(asked, id)
    if (verb === 'replay' && id && !values.failed) return replayOne(asked, id)
    if (verb === 'replay' && !id && values.failed) return replayFailed(asked)
    throw usageError({ usage }, 'give show or replay and one message, or replay --failed')
  },
}

async function list({ dir, json, topic, limit }: Asked, state: string | undefined): Promise<void> {
  const known = STATES.find((one) => one === state)
  if (state !== undefined && !known) throw usageError({ usage }, `--state is one of ${STATES.join(', ')}`)
  const states = known ? [known] : (['waiting', 'failed'] as const)
  const rows = await lookingIn(dir, ({ pool, shards }) =>
    listMessages(pool, { shards, limit, states, topic }),
  )
  if (json) return printJson(rows)
  if (rows.length === 0) return print(known ? `no message is ${known}` : 'nothing waits, nothing failed')
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

async function show({ dir, json }: Asked, id: string): Promise<void> {
  const { shard, ...message } = await lookingIn(dir, (ledger) => messageById(ledger, id))
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

async function replayOne({ dir, json }: Asked, id: string): Promise<void> {
  const result = await lookingIn(dir, (ledger) => replayMessage(ledger, id))
  if (json) return printJson(result)
  print(
    result.replayed
      ? `${result.messageId} waits to be published again`
      : `nothing to replay: ${result.messageId} is not finished yet`,
  )
}

async function replayFailed({ dir, json, topic, limit }: Asked): Promise<void> {
  const messages = await lookingIn(dir, (ledger) => replayFailedMessages(ledger, { topic, limit }))
  if (json) printJson({ messages })
  else print(`${messages} failed messages wait to be published again`)
}

function limitOf(text: string): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= 10_000) return limit
  throw usageError({ usage }, '--limit must be a number from 1 to 10000')
}
