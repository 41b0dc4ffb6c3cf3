import type { LedgerTables } from '../ledger/ledger.ts'
import { replayMessages } from '../ledger/outbox/messages.ts'
import { onlyOne } from '../ledger/read/id-prefix.ts'
import { type FoundMessage, failedMessages, findMessages } from '../ledger/read/outbox.ts'

/** Finds one message of the outbox by its id or by the beginning of it. */
export async function messageById({ pool, shards }: LedgerTables, id: string): Promise<FoundMessage> {
  const found = await findMessages(pool, shards, id)
  return onlyOne(found, { prefix: id, noun: 'message', code: 'MESSAGE_UNKNOWN' })
}

export interface ReplayedMessage {
  readonly messageId: string
  /** False: it is not finished yet. */
  readonly replayed: boolean
}

/** Publishes a finished message again, under its old id, after what waits in its lane. */
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

/** Publishes what was given up again, oldest first. Returns how many messages it was. */
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
