import type { LedgerTables } from '../ledger/ledger.ts'
import { replayMessages } from '../ledger/outbox/messages.ts'
import { onlyOne } from '../ledger/read/id-prefix.ts'
import {
  type FoundMessage,
  failedMessages,
  findMessages,
  type MessageRow,
  listMessages as readMessages,
} from '../ledger/read/outbox.ts'
import { checkLimit } from './page.ts'

export type { MessageRow }

export const messageStates = ['waiting', 'published', 'failed'] as const

export interface MessageQuery {
  /** Without it, those that need a look: waiting and failed. */
  readonly state?: (typeof messageStates)[number] | undefined
  readonly topic?: string | undefined
  readonly limit: number
}

/** Lists messages of the outbox, newest first. */
export async function listMessages(
  { pool, shards }: LedgerTables,
  { state, topic, limit }: MessageQuery,
): Promise<MessageRow[]> {
  checkLimit(limit)
  const states = state === undefined ? (['waiting', 'failed'] as const) : [state]
  return readMessages(pool, { shards, limit, states, topic })
}

/** Finds one message of the outbox by its id, or by the beginning of it. */
export async function messageById({ pool, shards }: LedgerTables, id: string): Promise<FoundMessage> {
  const found = await findMessages(pool, shards, id)
  return onlyOne(found, { prefix: id, noun: 'message', code: 'MESSAGE_UNKNOWN' })
}

export interface ReplayedMessage {
  readonly messageId: string
  /** False: it is neither published nor failed yet. */
  readonly replayed: boolean
}

/** Publishes a finished message again, under its old id, behind the waiting ones of its lane. */
export async function replayMessage(ledger: LedgerTables, id: string): Promise<ReplayedMessage> {
  const { shard, id: messageId } = await messageById(ledger, id)
  const count = await replayMessages(ledger.pool, {
    shard,
    ids: [messageId],
    states: ['published', 'failed'],
  })
  return { messageId, replayed: count > 0 }
}

export interface FailedMessagesFilter {
  readonly topic?: string | undefined
  readonly limit: number
}

/** Publishes failed messages again, oldest first. Returns how many. */
export async function replayFailedMessages(
  { pool, shards }: LedgerTables,
  { topic, limit }: FailedMessagesFilter,
): Promise<number> {
  let replayed = 0
  for (let shard = 0; shard < shards && replayed < limit; shard += 1) {
    const ids = await failedMessages(pool, { shard, topic, limit: limit - replayed })
    replayed += await replayMessages(pool, { shard, ids, states: ['failed'] })
  }
  return replayed
}
