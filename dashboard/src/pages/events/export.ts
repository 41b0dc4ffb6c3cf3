import { client } from '../../api.ts'
import { download } from '../../parts/download.ts'
import type { ListedEvent } from './columns.tsx'
import type { EventsQuery } from './query.ts'

/** The limit of an export. For more events, use the API directly: the curl line shows how. */
export const MAX_EXPORTED = 10_000

/** One event per line, without bodies. */
export function saveJsonLines(events: readonly ListedEvent[]): void {
  download(events.map((event) => `${JSON.stringify(event)}\n`).join(''), 'events.jsonl')
}

/** All events that match, up to the limit. */
export async function matchingEvents(
  query: EventsQuery,
  signal: AbortSignal,
): Promise<readonly ListedEvent[]> {
  const found: ListedEvent[] = []
  for await (const event of client.items('/events', { query: { ...query, limit: 200 }, signal })) {
    found.push(event)
    if (found.length >= MAX_EXPORTED) break
  }
  return found
}

/** The request of this list, as a command line. */
export function listAsCurl(query: EventsQuery): string {
  const search = new URLSearchParams(
    Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
  const url = new URL('api/v1/events', document.baseURI)
  url.search = search.toString()
  return `curl -s -H "authorization: Bearer $HOOKONCE_TOKEN" '${url.href.replaceAll("'", '%27')}'`
}
