import type { Doors, Entry } from '../delivery/doors.ts'

/** The part of Hono's context that is used. */
export interface HonoContext {
  readonly req: { readonly raw: Request; readonly bodyCache: object }
  readonly env: unknown
}

export type HonoHandler = (c: HonoContext) => Promise<Response>

export function honoHandler(doors: Doors, entry: Entry): HonoHandler {
  return async ({ req, env }) =>
    doors.fetch(await withKeptBody(req), { ...entry, peerAddress: addressOf(env) })
}

/** The bodies that Hono caches, by the method that read them. */
interface KeptBody {
  readonly arrayBuffer?: Promise<ArrayBuffer>
  readonly blob?: Promise<Blob>
  readonly text?: Promise<string>
}

/**
 * A middleware may have read the body. Hono caches the result, and only these three forms still
 * have the bytes: parsed JSON (Hono 3) and forms do not.
 */
async function withKeptBody({ raw, bodyCache }: HonoContext['req']): Promise<Request> {
  if (!raw.bodyUsed) return raw
  const { arrayBuffer, blob, text }: KeptBody = bodyCache
  const body = await (arrayBuffer ?? blob ?? text)
  return body === undefined ? raw : new Request(raw, { body })
}

/** @hono/node-server passes the request of node:http in `env`. */
function addressOf(env: unknown): string | undefined {
  const { incoming } = (env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } }
  return incoming?.socket?.remoteAddress
}
