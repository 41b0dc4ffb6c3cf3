/*
 * The common shape of requests and replies. Every adapter converts its framework's objects to it.
 */
export interface KeyedHead {
  readonly method: string
  /** Path and query as received. */
  readonly target: string
  /** Looks up a header by lower-case name. Repeated headers are joined with `, `. */
  readonly header: (name: string) => string | undefined
  /** One entry per occurrence of the header, if the framework keeps them apart. */
  readonly keyHeaders: readonly string[]
}

export interface KeyedRequest extends KeyedHead {
  /** As received. */
  readonly body: Uint8Array
}

export interface Reply {
  readonly status: number
  /** A repeated header has several entries. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Bytes, or a stream if the end has not been read yet. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

export function headerOf(reply: Pick<Reply, 'headers'>, name: string): string | undefined {
  for (const [header, value] of reply.headers)
    if (header.length === name.length && header.toLowerCase() === name) return value
  return undefined
}

/**
 * Whether the reply is a stream of server-sent events. They are sent as they come and may never
 * end.
 */
export function isEvents(reply: Pick<Reply, 'headers'>): boolean {
  return headerOf(reply, 'content-type')?.startsWith('text/event-stream') === true
}

/** Replaces headers, given by lower-case name. */
export function withHeaders(reply: Reply, headers: Readonly<Record<string, string>>): Reply {
  const all: (readonly [string, string])[] = []
  for (const pair of reply.headers) if (!Object.hasOwn(headers, pair[0].toLowerCase())) all.push(pair)
  for (const name of Object.keys(headers)) all.push([name, headers[name] ?? ''])
  return { status: reply.status, headers: all, body: reply.body }
}

/** Groups headers by lower-case name for setHeader of node:http. Repeated headers become a list. */
export function grouped(pairs: Iterable<readonly [string, unknown]>): Map<string, string | string[]> {
  const groups = new Map<string, string | string[]>()
  for (const [name, value] of pairs) {
    const lower = name.toLowerCase()
    const known = groups.get(lower)
    if (known !== undefined) groups.set(lower, [known, toHeader(value)].flat())
    else groups.set(lower, typeof value === 'string' ? value : toHeader(value))
  }
  return groups
}

export function toHeader(value: unknown): string | string[] {
  return Array.isArray(value) ? value.map(String) : String(value)
}

/** Scripts of other origins can read only the headers listed here. */
export const EXPOSED = 'access-control-expose-headers'

/** Merges comma-separated lists of names, without duplicates. */
export function exposed(...lists: readonly unknown[]): string {
  const names = new Map<string, string>()
  for (const list of lists) {
    for (const part of String(list ?? '').split(',')) {
      const name = part.trim()
      if (name !== '' && !names.has(name.toLowerCase())) names.set(name.toLowerCase(), name)
    }
  }
  return [...names.values()].join(', ')
}

/**
 * Adds a reply's exposed headers to those already set, for example by CORS middleware outside the
 * keys.
 */
export function withExposedBefore(
  headers: Map<string, string | string[]>,
  before: unknown,
): Map<string, string | string[]> {
  const own = headers.get(EXPOSED)
  return own === undefined || before === undefined ? headers : headers.set(EXPOSED, exposed(before, own))
}
