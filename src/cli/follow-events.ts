import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { HookonceError } from '../model/errors.ts'
import { type FollowQuery, followEvents } from '../operate/follow.ts'
import { operatorError } from '../operate/operator-error.ts'
import { eventTable } from './event-table.ts'
import type { Ledgers } from './open-ledger.ts'
import { tenantColumn } from './tenant-column.ts'

const LOOK_EVERY_MS = 500
/** Delay after a failed read. Doubled each time, up to the second number. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000

/** Prints events as they arrive, until Ctrl-C, SIGTERM or the end of the pipe. */
export async function printArriving(
  ledger: Ledgers,
  query: FollowQuery,
  { json }: { readonly json: boolean },
): Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  const stop = (): void => stopping.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  process.stdout.once('error', stop)
  const list = eventTable(await tenantColumn(ledger))
  const tail = followEvents(ledger, query)
  let count = 0
  let last: string | undefined
  let pauseMs = FIRST_PAUSE_MS
  if (!json) await write(`${list.head()}\n`, signal)
  while (!signal.aborted) {
    try {
      for await (const events of tail.look()) {
        await write(
          events.map((event) => `${json ? JSON.stringify(event) : list.row(event)}\n`).join(''),
          signal,
        )
        if (signal.aborted) break
        count += events.length
        last = events.at(-1)?.cursor
      }
      pauseMs = FIRST_PAUSE_MS
      await pause(LOOK_EVERY_MS, signal)
    } catch (error) {
      const told = operatorError(error)
      if (!(told instanceof HookonceError) || told.code !== 'LEDGER_DOWN') throw told
      process.stderr.write(`${told.message}; retrying in ${pauseMs / 1_000} s\n`)
      await pause(pauseMs, signal)
      pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)
    }
  }
  const next = last === undefined ? '' : `; to continue here, pass the same filters and --after ${last}`
  process.stderr.write(`${count} ${count === 1 ? 'event' : 'events'}${next}\n`)
}

/** Waits for a slow reader, so that output does not accumulate in memory. */
async function write(text: string, signal: AbortSignal): Promise<void> {
  if (process.stdout.write(text)) return
  await once(process.stdout, 'drain', { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}
