import { inTransaction } from '../ledger/driver/in-transaction.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { isSet, type Ledgers } from '../ledger/ledger-set.ts'
import { retryLaneNow } from '../ledger/outbox/lanes.ts'
import { replayMessages } from '../ledger/outbox/messages.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import { onlyOne } from '../ledger/read/id-prefix.ts'
import {
  type FoundMessage,
  failedMessages,
  findMessages,
  type MessageRow,
  type PagedMessage,
  readMessagePage,
  listMessages as readMessages,
} from '../ledger/read/outbox.ts'
import { type StuckLane, stuckLanes } from '../ledger/read/stuck-lanes.ts'
import { askAll, everywhere, pagedEverywhere, sortedBy, whereFound } from './across.ts'
import type { DecisionReason } from './audit.ts'
import { compareText } from './compare-text.ts'
import { overShards, type WorkWatch } from './over-shards.ts'
import { checkLimit, compareLatestFirst, requireLanePosition, timePosition } from './page.ts'

export type { FoundMessage, MessageRow, StuckLane }

export const messageStates = ['waiting', 'published', 'failed'] as const

export interface MessageQuery {
  /** The default is waiting and failed messages, which may need attention. */
  readonly state?: (typeof messageStates)[number] | undefined
  readonly topic?: string | undefined
  readonly tenant?: string | undefined
  readonly limit: number
}

async function messagesIn(
  { pool, shards }: LedgerTables,
  { state, topic, tenant, limit }: MessageQuery,
): Promise<MessageRow[]> {
  checkLimit(limit)
  const states = state === undefined ? (['waiting', 'failed'] as const) : [state]
  return readMessages(pool, { shards, limit, states, topic, tenant })
}

/** Lists messages of the outbox, newest first. */
export const listMessages = everywhere(messagesIn, (all, [{ limit }]) =>
  sortedBy(all, (a, b) => b.createdAt.getTime() - a.createdAt.getTime(), limit),
)

export interface MessagePageQuery {
  readonly state: (typeof messageStates)[number]
  readonly tenant?: string | undefined
  readonly topic?: string | undefined
  readonly limit: number
  /** `next` of a page: the list continues after it. */
  readonly after?: string | undefined
  /** `previous` of a page: lists the messages before it. */
  readonly before?: string | undefined
}

export interface MessagePage {
  readonly messages: readonly PagedMessage[]
  readonly next: string | undefined
  readonly previous: string | undefined
}

/**
 * The number of rows of each shard that are checked against a filter. Messages beyond them are not
 * listed.
 */
const FILTERED_WALK = 5_000

async function messagePageIn(
  { pool, shards }: LedgerTables,
  { state, tenant, topic, limit, after, before }: MessagePageQuery,
): Promise<MessagePage> {
  checkLimit(limit)
  const direction = before === undefined ? 'onward' : 'back'
  const ends = state === 'waiting' ? WAITING_ENDS : FINISHED_ENDS
  const cursor = before ?? after ?? ends.first
  if (state === 'waiting') requireLanePosition(cursor)
  else timePosition(cursor)
  const from = cursor.split('_')
  const isFiltered = tenant !== undefined || topic !== undefined || state !== 'waiting'
  const walk = isFiltered ? FILTERED_WALK : limit + 1
  // One extra row shows whether there is another page.
  const question = { shards, state, direction, from, limit: limit + 1, walk, tenant, topic } as const
  const found = await readMessagePage(pool, question)
  const hasMore = found.length > limit
  if (direction === 'back') {
    const messages = hasMore ? found.slice(1) : found
    const previous = hasMore ? messages[0]?.cursor : undefined
    return { messages, next: messages.at(-1)?.cursor ?? ends.first, previous }
  }
  const messages = found.slice(0, limit)
  const next = hasMore ? messages.at(-1)?.cursor : undefined
  return { messages, next, previous: after === undefined ? undefined : (messages[0]?.cursor ?? ends.last) }
}

/**
 * Lists messages of one state in pages. Finished messages are ordered by the time they finished,
 * the latest first. Waiting messages are ordered lane by lane, in the order of publishing.
 */
export function pageMessages(ledgers: Ledgers, query: MessagePageQuery): Promise<MessagePage> {
  const isWaiting = query.state === 'waiting'
  const ends = isWaiting ? WAITING_ENDS : FINISHED_ENDS
  const paged = pagedEverywhere(messagePageIn, {
    itemsOf: ({ messages }: MessagePage) => messages,
    cursorOf: ({ cursor }: PagedMessage) => cursor,
    make: (messages, { next, previous }) => ({ messages, next, previous }),
    compare: isWaiting ? comparePlaces : compareLatestFirst,
    ...ends,
    limitOf: ({ limit }: MessagePageQuery) => limit,
  })
  return paged(ledgers, query)
}

/** Positions of waiting messages: shard, lane, number. */
function comparePlaces(a: string, b: string): number {
  const [shardA = '', laneA = '', numberA = ''] = a.split('_')
  const [shardB = '', laneB = '', numberB = ''] = b.split('_')
  return (
    Number(shardA) - Number(shardB) || compareText(laneA, laneB) || Number(BigInt(numberA) - BigInt(numberB))
  )
}

const LOWEST = '00000000-0000-0000-0000-000000000000'
const HIGHEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const WAITING_ENDS = { first: `-1_${LOWEST}_0`, last: `29999_${HIGHEST}_0` } as const
const FINISHED_ENDS = {
  first: `9999-12-31T00:00:00.000000Z_${LOWEST}`,
  last: `0001-01-01T00:00:00.000000Z_${HIGHEST}`,
} as const

async function messageIn(
  { pool, shards }: LedgerTables,
  id: string,
  { tenant }: { readonly tenant?: string | undefined } = {},
): Promise<FoundMessage> {
  const found = await findMessages(pool, shards, id, tenant)
  return onlyOne(found, { prefix: id, noun: 'message', code: 'MESSAGE_UNKNOWN' })
}

/** Finds one message of the outbox by its id, or by a prefix of its id. */
export const messageById = whereFound((ledger, [id, scope]) => messageIn(ledger, id, scope), messageIn)

/**
 * The number of lanes of each shard that are read. With a larger backlog, some stuck lanes are not
 * listed.
 */
const LANES_READ = 2_000
/**
 * The number of stuck lanes that are listed. After an outage of a broker, every lane is stuck for
 * the same reason.
 */
const MAX_STUCK = 500
/** The limit on counted messages of a lane: "1,000 or more" is enough for a person. */
const COUNTED = 1_000

function stuckLanesIn(
  { pool, shards }: LedgerTables,
  filter: { readonly tenant?: string | undefined; readonly topic?: string | undefined } = {},
): Promise<StuckLane[]> {
  return stuckLanes(pool, { shards, walk: LANES_READ, counted: COUNTED, limit: MAX_STUCK, ...filter })
}

/** Lanes whose first message was refused, so the messages behind it wait. Oldest first. */
export const listStuckLanes = everywhere(stuckLanesIn, (all) =>
  sortedBy(all, (a, b) => a.oldestAt.getTime() - b.oldestAt.getTime(), MAX_STUCK),
)

export interface ReplayedMessage {
  readonly messageId: string
  /** False: the message is neither published nor failed yet. */
  readonly replayed: boolean
}

async function replayMessageIn(
  ledger: LedgerTables,
  id: string,
  reason?: DecisionReason,
): Promise<ReplayedMessage> {
  const { shard, id: messageId, tenant, topic } = await messageById(ledger, id)
  return inTransaction(ledger.pool, async (client) => {
    const states = ['published', 'failed'] as const
    const replayed = (await replayMessages(client, { shard, ids: [messageId], states })) > 0
    if (reason && replayed) {
      const { by: actor, why, address } = reason
      const entry = { actor, why, tenant, subject: messageId, detail: { topic }, address }
      await recordAudit(client, { ...entry, action: 'replay-message' })
    }
    await client.query('commit')
    return { messageId, replayed }
  })
}

/** Publishes a finished message again with the same id, after the waiting messages of its lane. */
export const replayMessage = whereFound((ledger, [id]) => messageIn(ledger, id), replayMessageIn)

export interface RetriedLane {
  /** The message that identified the lane. */
  readonly messageId: string
  /**
   * False: a relay is already publishing the lane, the lane is due, or the message is not waiting.
   */
  readonly retried: boolean
}

async function retryLaneIn(
  ledger: LedgerTables,
  id: string,
  { by: actor, why, address }: DecisionReason,
): Promise<RetriedLane> {
  const { shard, id: messageId, tenant, topic, key } = await messageById(ledger, id)
  return inTransaction(ledger.pool, async (client) => {
    const retried = await retryLaneNow(client, { shard, id: messageId })
    const entry = { actor, why, tenant, subject: messageId, detail: { topic, key }, address }
    if (retried) await recordAudit(client, { ...entry, action: 'retry-lane' })
    await client.query('commit')
    return { messageId, retried }
  })
}

/**
 * Publishes the lane of a waiting message now, before its scheduled time. The order of its messages
 * does not change.
 */
export const retryLane = whereFound((ledger, [id]) => messageIn(ledger, id), retryLaneIn)

export interface FailedMessagesFilter {
  readonly tenant?: string | undefined
  readonly topic?: string | undefined
  readonly limit: number
}

/** The number of messages per commit. More would lock their lanes for too long. */
const BATCH = 100

async function replayFailedIn(
  ledger: LedgerTables,
  { tenant, topic, limit }: FailedMessagesFilter,
  reason?: DecisionReason,
  { signal, onProgress }: WorkWatch = {},
): Promise<number> {
  const found = await overShards(ledger, limit, async (question) =>
    (await failedMessages(ledger.pool, { ...question, tenant, topic })).map((id) => ({ id })),
  )
  let replayed = 0
  for (let from = 0; from < found.length; from += BATCH) {
    if (signal?.aborted) break
    onProgress?.({ done: from, total: found.length })
    const batch = found.slice(from, from + BATCH)
    replayed += await inTransaction(ledger.pool, async (client) => {
      let messages = 0
      for (const shard of new Set(batch.map((message) => message.shard))) {
        const ids = batch.filter((message) => message.shard === shard).map(({ id }) => id)
        messages += await replayMessages(client, { shard, ids, states: ['failed'] })
      }
      if (reason && messages > 0) {
        const { by: actor, why, address } = reason
        const entry = { actor, why, tenant: tenant ?? 'default', subject: 'failed messages', address }
        await recordAudit(client, { ...entry, detail: { topic, messages }, action: 'replay-messages' })
      }
      await client.query('commit')
      return messages
    })
  }
  return replayed
}

/**
 * Publishes failed messages again, oldest first. Returns the number of messages. If a stop is
 * requested, ends after the current commit.
 */
export async function replayFailedMessages(
  ledgers: Ledgers,
  filter: FailedMessagesFilter,
  reason?: DecisionReason,
  watch: WorkWatch = {},
): Promise<number> {
  if (!isSet(ledgers)) return replayFailedIn(ledgers, filter, reason, watch)
  let replayed = 0
  // One ledger after the other, because the limit applies to all ledgers together.
  for (const member of ledgers.members) {
    const limit = filter.limit - replayed
    if (limit <= 0) break
    const [own] = await askAll({ ...ledgers, members: [member] }, (tables) =>
      replayFailedIn(tables, { ...filter, limit }, reason, watch),
    )
    replayed += own?.answer ?? 0
  }
  return replayed
}
