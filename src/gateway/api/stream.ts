import type { Change } from '../../operate/changes.ts'
import { rawRoute } from './route.ts'

type Sent<Value> = Value extends Date ? string : Value

/** The data of a server-sent event: a change as JSON. */
export type StreamedChange = Change extends infer One
  ? One extends Change
    ? { readonly [Name in keyof One]: Sent<One[Name]> }
    : never
  : never

export const streamRoutes = [
  rawRoute({
    path: '/stream',
    access: { role: 'viewer', scope: 'tenant' },
    tag: 'stream',
    summary: 'Follow changes as server-sent events',
    description:
      'Events: `recorded`, `job` (a job changed its state), `rejected`, and `skipped` (there were more changes than were sent, or one of several ledgers went down or came back: read the lists again). At most a second behind the commit. With the header `last-event-id` it continues after that event. A stream ends after five minutes, and the client connects again. It ends within seconds when its token is revoked.',
    media: 'text/event-stream',
    async answer({ feed, caller, lastEventId, isAllowed }) {
      return {
        headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
        body: feed.open({ tenant: caller.tenant, lastId: lastEventId, isAllowed }),
      }
    },
  }),
] as const
