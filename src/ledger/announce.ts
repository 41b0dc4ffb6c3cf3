import pg from 'pg'
import { type Queryable, rows, statement } from './statement.ts'

/*
 * Work for others: a process that leaves jobs in the ledger tells the workers of other processes, so that they need not
 * wait for their next poll. Nothing depends on it: what is not heard is found by the poll.
 */

const CHANNEL = 'hookonce_work'
/**
 * Notifications share one lock of the whole server, until they are committed: the first goes at once, further ones at
 * most this often, and none waits for the disk.
 */
const APART_MS = 10
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

const ANNOUNCE = statement(
  'announce',
  `with hurried as materialized (select set_config('synchronous_commit', 'off', true))
   select pg_notify('${CHANNEL}', '') from hurried`,
)

/** Returns what announces work. Never inside the transaction that made it. */
export function announcer(db: Queryable): () => void {
  let isPausing = false
  let isDue = false

  async function announce(): Promise<void> {
    isPausing = true
    isDue = false
    // The poll will find the work; a ledger that is down is reported by those who need it.
    await rows(db, ANNOUNCE).catch(() => undefined)
    setTimeout(() => {
      isPausing = false
      if (isDue) void announce()
    }, APART_MS).unref()
  }

  return () => {
    isDue = true
    if (!isPausing) void announce()
  }
}

export interface Listening {
  stop(): Promise<void>
}

/** Calls back for each announcement, over a connection of its own, for as long as the process lives. */
export function listen(config: pg.ClientConfig, onWork: () => void): Listening {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let pauseMs = FIRST_PAUSE_MS
  let isStopped = false
  let connecting: Promise<void> = connect()

  async function connect(): Promise<void> {
    const fresh = new pg.Client(config)
    let isOver = false
    const over = (): void => {
      if (isOver) return
      isOver = true
      fresh.end().catch(() => undefined)
      again()
    }
    fresh.on('error', over).on('end', over).on('notification', onWork)
    try {
      await fresh.connect()
      await fresh.query(`listen ${CHANNEL}`)
    } catch {
      return over()
    }
    client = fresh
    pauseMs = FIRST_PAUSE_MS
    // What was announced while nobody listened.
    onWork()
  }

  function again(): void {
    client = undefined
    if (isStopped) return
    timer = setTimeout(() => {
      connecting = connect()
    }, pauseMs).unref()
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
  }

  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await connecting
      await client?.end().catch(() => undefined)
    },
  }
}
