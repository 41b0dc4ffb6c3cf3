import type { IncomingMessage } from 'node:http'
import type { Doors, Entry } from '../delivery/doors.ts'
import { parsedBytes } from '../http/parsed-bytes.ts'
import { lostBody } from '../http/pulled-body.ts'

/** The part of Hono's context that is used. */
export interface HonoContext {
  readonly req: { readonly raw: Request; readonly bodyCache: object }
  readonly env: unknown
}

export type HonoHandler = (c: HonoContext) => Promise<Response>

export function honoHandler(doors: Doors, entry: Entry): HonoHandler {
  return async ({ req, env }) => {
    // @hono/node-server passes the request of node:http in `env`.
    const { incoming } = (env ?? {}) as { incoming?: IncomingMessage }
    const request = await withKeptBody(req, incoming)
    return doors.fetch(request, { ...entry, peerAddress: incoming?.socket?.remoteAddress })
  }
}

/** The bodies that Hono caches, by the method that read them. */
interface KeptBody {
  readonly arrayBuffer?: Promise<ArrayBuffer>
  readonly blob?: Promise<Blob>
  readonly text?: Promise<string>
}

/**
 * A middleware may have read the body. Hono caches the result, and only these three forms still
 * have the bytes: parsed JSON (Hono 3) and forms do not. On Node, the bytes of those are kept too.
 * Text is the last choice: decoding loses a byte order mark and bytes that are not UTF-8.
 */
async function withKeptBody(
  { raw, bodyCache }: HonoContext['req'],
  incoming: IncomingMessage | undefined,
): Promise<Request> {
  if (!raw.bodyUsed) return raw
  const { arrayBuffer, blob, text }: KeptBody = bodyCache
  const parsed = incoming && parsedBytes(incoming)
  const bytes = (await (arrayBuffer ?? blob)) ?? parsed
  if (bytes && !('code' in bytes)) return new Request(raw, { body: bytes })
  const body = await text
  if (body !== undefined) return new Request(raw, { body })
  return bytes ? new Request(raw, { body: lostBody(bytes), duplex: 'half' }) : raw
}
