import pg from 'pg'
import { schemaOf } from '../driver/schema.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'
import type { DueShard } from './claim.ts'
import type { JobRef } from './job-ref.ts'

/*
 * A process that leaves due jobs in the ledger announces their shards to the workers of other
 * processes. The workers then need not wait for their next poll, nor search all shards. Correctness
 * does not depend on it: the poll finds work whose announcement was lost.
 */

/** Each ledger has its own channel, because its shards mean nothing to other ledgers. */
function channelOf(schema: string): string {
  return `${schema}_work`
}

/**
 * Notifications hold a lock of the whole server until they are committed. So the first is sent at
 * once, further ones at most this often, and none waits for the disk.
 */
const APART_MS = 10
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
const GOODBYE_MS = 1_000

/** A payload holds 8,000 bytes. With more shards than this, workers search all of them. */
const MOST_PLACES = 256
const EVERYWHERE = ''

const ANNOUNCE = statement(
  'announce',
  `with hurried as materialized (select set_config('synchronous_commit', 'off', true))
   select pg_notify($1::text, $2::text) from hurried`,
)

/**
 * Returns a function that announces a due job; without an argument, due work anywhere. Call it
 * after the commit that made the job due.
 */
export function announcer(db: Queryable): (job?: DueJob) => void {
  const channel = channelOf(schemaOf(db))
  let isPausing = false
  let places = new Set<string>()

  async function announce(): Promise<void> {
    const isAnywhere = places.has(EVERYWHERE) || places.size > MOST_PLACES
    const payload = isAnywhere ? EVERYWHERE : [...places].join(' ')
    places = new Set()
    isPausing = true
    // The poll finds the work. Other statements report that the ledger is down.
    await rows(db, ANNOUNCE, [channel, payload]).catch(() => undefined)
    setTimeout(() => {
      isPausing = false
      if (places.size > 0) void announce()
    }, APART_MS).unref()
  }

  return (job) => {
    places.add(job ? `${job.shard}/${job.subscriber}` : EVERYWHERE)
    if (!isPausing) void announce()
  }
}

export type DueJob = Pick<JobRef, 'shard' | 'subscriber'>

/** The shards in a payload; undefined: work may be anywhere. */
function placesIn(payload: string | undefined): DueShard[] | undefined {
  if (!payload || !/^\d+\/\d+( \d+\/\d+)*$/.test(payload)) return undefined
  const shards = new Map<number, number[]>()
  for (const place of payload.split(' ')) {
    const [shard = 0, subscriber = 0] = place.split('/').map(Number)
    const subscribers = shards.get(shard)
    if (subscribers) subscribers.push(subscriber)
    else shards.set(shard, [subscriber])
  }
  return [...shards].map(([shard, subscribers]) => ({ shard, subscribers }))
}

/** Called with the places of due work; without an argument, it may be anywhere. */
export type OnWork = (places?: readonly DueShard[]) => void

export interface WorkListener {
  stop(): Promise<void>
}

/** Calls back for each announcement, over its own connection, until it is stopped. */
export function listen(config: pg.ClientConfig, schema: string, onWork: OnWork): WorkListener {
  let client: (pg.Client & { readonly connection?: pg.Connection }) | undefined
  let timer: NodeJS.Timeout | undefined
  let pauseMs = FIRST_PAUSE_MS
  let isStopped = false
  void connect()

  async function connect(): Promise<void> {
    const fresh = new pg.Client(config)
    client = fresh
    let isOver = false
    const over = (): void => {
      if (isOver) return
      isOver = true
      fresh.end().catch(() => undefined)
      again()
    }
    fresh
      .on('error', over)
      .on('end', over)
      .on('notification', ({ payload }) => onWork(placesIn(payload)))
    try {
      await fresh.connect()
      await fresh.query(`listen ${channelOf(schema)}`)
    } catch {
      return over()
    }
    pauseMs = FIRST_PAUSE_MS
    // Announcements may have been missed while there was no connection.
    onWork()
  }

  function again(): void {
    client = undefined
    if (isStopped) return
    timer = setTimeout(() => void connect(), pauseMs).unref()
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
  }

  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      if (!client) return
      const { connection } = client
      // A server that is down does not answer the termination message, and this connection holds no
      // state.
      const patience = setTimeout(() => connection?.stream.destroy(), GOODBYE_MS)
      await client.end().catch(() => undefined)
      clearTimeout(patience)
    },
  }
}
