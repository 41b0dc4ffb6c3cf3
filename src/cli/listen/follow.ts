import { type AdminClient, ApiError } from '../../client/index.ts'
import { bells } from './bells.ts'
import { ask, GatewayAway } from './gateway-calls.ts'
import type { Position } from './position.ts'
import type { ListedEvent, Outcome, Report } from './report.ts'
import { type Content, waited } from './send.ts'

/*
 * Follows the events of a gateway, the oldest first and one at a time. It reads only: jobs and
 * attempts of the gateway's own destinations stay as they are.
 */

export interface FollowOptions {
  readonly from: string
  /** The client for requests with a deadline. */
  readonly client: AdminClient
  /** The client for the stream, which has no deadline. */
  readonly streamClient: AdminClient
  readonly position: Position
  readonly filter: Filter
  readonly report: Report
  readonly stop: AbortSignal
  /** Called once, as soon as new events would be found. */
  onReady(): void
  /** Undefined: sending was stopped, and the event must be sent again. */
  send(event: ListedEvent, content: Content): Promise<Outcome | undefined>
}

export interface Filter {
  /** The filters that the gateway applies. */
  readonly query: { readonly source?: string; readonly type?: string }
  /** The remaining filters, which the gateway cannot combine. */
  matches(event: ListedEvent): boolean
}

const PAGE = 200
/** Events per listing. If there are more, the oldest are sent first, and the list is read again. */
const MAX_LISTED = 10_000

/** Delays between two connections. The first is the shortest delay that the stream allows. */
const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 30_000

/** Runs until it is stopped. An outage is an error only before the first connection. */
export async function follow(options: FollowOptions): Promise<void> {
  const { from, streamClient, position, report, stop } = options
  let isReady = false
  let outages = 0
  while (!stop.aborted) {
    try {
      for await (const { latest } of bells(streamClient, from, stop)) {
        if (!position.isSet()) await startNow(options)
        if (!isReady) options.onReady()
        else if (outages > 0) report.restored()
        isReady = true
        outages = 0
        await catchUp(options, latest)
      }
    } catch (error) {
      if (stop.aborted) break
      if (!isReady || !(error instanceof GatewayAway)) throw error
      report.lost(error.reason, waitAfter(outages + 1))
      outages += 1
    }
    await waited(waitAfter(outages), stop)
  }
}

function waitAfter(outages: number): number {
  return Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, outages - 1))
}

/** Marks the latest events as known. Uses the ledger's times, so other clocks do not matter. */
async function startNow({ from, client, position }: FollowOptions): Promise<void> {
  const latest: ListedEvent[] = []
  await ask(from, async () => {
    for await (const event of client.items('/events', { query: { limit: PAGE } })) {
      if (position.isSet() && Date.parse(event.receivedAt) < position.listFrom().getTime()) break
      // The list begins with the newest event, which sets the start time.
      position.note(event)
      latest.push(event)
    }
  })
  if (latest.length === 0) position.advance(new Date(0))
  position.save()
}

/** Sends the listed events that were not sent yet. */
async function catchUp(options: FollowOptions, latest: Date | undefined): Promise<void> {
  const { position, stop } = options
  try {
    for (let isWhole = false; !isWhole; ) {
      const found = await unsent(options)
      isWhole = found.isWhole
      for (const event of found.events) {
        if (stop.aborted || !(await handle(options, event))) return
        position.note(event)
      }
    }
    if (latest) position.advance(latest)
  } finally {
    position.save()
  }
}

async function unsent({ from, client, position, filter }: FollowOptions): Promise<Oldest<ListedEvent>> {
  const query = { ...filter.query, limit: PAGE, since: position.listFrom().toISOString() }
  const isWanted = (event: ListedEvent): boolean => !position.knows(event.id) && filter.matches(event)
  return ask(from, () => oldestOf(client.items('/events', { query }), isWanted, MAX_LISTED))
}

interface Oldest<Item> {
  /** The oldest event first. */
  readonly events: readonly Item[]
  /** False: there were more events, which are newer than these. */
  readonly isWhole: boolean
}

/** The oldest events of a list that begins with the newest. Holds only these events in memory. */
export async function oldestOf<Item>(
  list: AsyncIterable<Item>,
  isWanted: (item: Item) => boolean,
  most: number,
): Promise<Oldest<Item>> {
  const events: Item[] = []
  let isWhole = true
  for await (const item of list) {
    if (!isWanted(item)) continue
    events.push(item)
    if (events.length <= most) continue
    events.shift()
    isWhole = false
  }
  return { events: events.reverse(), isWhole }
}

/** False: the event must be sent again. */
async function handle(options: FollowOptions, event: ListedEvent): Promise<boolean> {
  const content = await contentOf(options, event.id)
  if (!('reason' in content)) return (await options.send(event, content)) !== undefined
  options.report.skipped(event, content.reason)
  return true
}

/**
 * The content of an event, or the reason why it no longer exists: retention, `forget`, or a prune
 * just now.
 */
async function contentOf(
  { from, client }: FollowOptions,
  id: string,
): Promise<Content | { readonly reason: string }> {
  try {
    return await ask(from, async () => {
      const response = await client.get('/events/{id}/body', { params: { id } })
      const body = new Uint8Array(await response.arrayBuffer())
      const { receipt } = await client.get('/events/{id}', { params: { id }, query: { payloads: true } })
      return { body, headers: receipt.headers ?? '' }
    })
  } catch (error) {
    if (error instanceof ApiError) return { reason: error.message }
    throw error
  }
}
