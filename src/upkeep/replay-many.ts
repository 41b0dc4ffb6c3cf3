import type { PoolClient } from 'pg'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import { announcer } from '../ledger/jobs/announce.ts'
import {
  type BulkPosition,
  type LockedBulkReplay,
  lockBulkReplay,
  moveBulkReplay,
  nextJobs,
  nextSubscriber,
  runningBulkReplays,
} from '../ledger/jobs/bulk-replay.ts'
import { replayJobs } from '../ledger/jobs/replay.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { Chore } from './chore.ts'

/** A replay progresses in steps of about a second. */
const EVERY_MS = 1_000
/** Few jobs per commit, so that locks are short. */
const MAX_BATCH = 500
/** The number of jobs that are read per commit, whether or not they match the filter. */
const MAX_SEEN = 2_000
/** The number of shards and subscribers that are visited per commit: most have no matching job. */
const MAX_PARTS = 64

/** Runs the replays that operators have started. Any process may take the next batch of each. */
export function replayManyChore(ledger: LedgerTables): Chore {
  return {
    name: 'replay-many',
    everyMs: EVERY_MS,
    async run() {
      let jobs = 0
      for (const id of await runningBulkReplays(ledger.pool)) jobs += await stepReplay(ledger, id)
      return { jobs }
    },
  }
}

/**
 * Takes the next batch of a replay, as large as its rate allows now. Returns the number of jobs.
 */
async function stepReplay(ledger: LedgerTables, id: string): Promise<number> {
  const replayed = await inTransaction(ledger.pool, async (client) => {
    const replay = await lockBulkReplay(client, id)
    const allowed = replay ? Math.min(MAX_BATCH, Math.floor(replay.perSecond * replay.elapsedSeconds)) : 0
    const count = replay && allowed > 0 ? await takeBatch(client, ledger.shards, { replay, allowed }) : 0
    await client.query('commit')
    return count
  })
  if (replayed > 0) announcer(ledger.pool)()
  return replayed
}

interface Batch {
  readonly replay: LockedBulkReplay
  /** The number of jobs that may be replayed now. */
  readonly allowed: number
}

async function takeBatch(client: PoolClient, shards: number, { replay, allowed }: Batch): Promise<number> {
  let position: BulkPosition | undefined = await settled(client, shards, replay, replay.position)
  let seen = 0
  let taken = 0
  let replayed = 0
  for (let parts = 0; position && parts < MAX_PARTS && taken < allowed && seen < MAX_SEEN; parts += 1) {
    const limit = MAX_SEEN - seen
    const jobs = await nextJobs(client, { ...replay, position, limit })
    const wanted: string[] = []
    for (const { id, at, wanted: isWanted } of jobs) {
      if (taken >= allowed) break
      seen += 1
      position = { ...position, at, id }
      if (!isWanted) continue
      taken += 1
      wanted.push(id)
    }
    const { shard, subscriber } = position
    if (wanted.length > 0) {
      const states = [replay.filter.state] as const
      replayed += await replayJobs(client, { shard, receiptIds: wanted, subscribers: [subscriber], states })
    }
    const isPartOver = jobs.length < limit && position.id === (jobs.at(-1)?.id ?? position.id)
    if (isPartOver)
      position = await settled(client, shards, replay, { ...BEGIN, shard, subscriber: subscriber + 1 })
  }
  const progress = { position: position ?? replay.position, seen, replayed, isDone: position === undefined }
  await moveBulkReplay(client, replay.id, progress)
  return replayed
}

const BEGIN = { at: '-infinity', id: '00000000-0000-0000-0000-000000000000' } as const

/** The same position, or the start of the next part that has a subscriber. Undefined: the end. */
async function settled(
  client: PoolClient,
  shards: number,
  replay: LockedBulkReplay,
  position: BulkPosition,
): Promise<BulkPosition | undefined> {
  const found = await nextSubscriber(client, position.subscriber, replay)
  if (found === position.subscriber) return position
  if (found !== undefined) return { ...BEGIN, shard: position.shard, subscriber: found }
  const first = await nextSubscriber(client, 0, replay)
  const shard = position.shard + 1
  return first === undefined || shard >= shards ? undefined : { ...BEGIN, shard, subscriber: first }
}
