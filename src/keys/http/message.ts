/*
 * Requests and replies in the one shape that every adapter turns its framework's into.
 */
export interface KeyedHead {
  readonly method: string
  /** Path and query, as they came. */
  readonly target: string
  /** By lower-case name; repeated ones joined by `, `. */
  readonly header: (name: string) => string | undefined
  /** One for each time that the header came, where the framework can tell. */
  readonly keyHeaders: readonly string[]
}

export interface KeyedRequest extends KeyedHead {
  /** As it came. */
  readonly body: Uint8Array
}

export interface Reply {
  readonly status: number
  /** A repeated header is repeated. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Bytes, or a stream where the end has not been seen yet. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

export function headerOf(reply: Pick<Reply, 'headers'>, name: string): string | undefined {
  return reply.headers.find(([header]) => header.toLowerCase() === name)?.[1]
}

/** Server-sent events: they are sent as they come, and may have no end. */
export function isEvents(reply: Pick<Reply, 'headers'>): boolean {
  return headerOf(reply, 'content-type')?.startsWith('text/event-stream') === true
}

/** With headers, by lower-case name, said anew; what was said before under a name is dropped. */
export function withHeaders(reply: Reply, headers: Readonly<Record<string, string>>): Reply {
  const kept = reply.headers.filter(([name]) => !Object.hasOwn(headers, name.toLowerCase()))
  return { status: reply.status, headers: kept.concat(Object.entries(headers)), body: reply.body }
}

/**
 * By lower-case name, as setHeader of node:http takes them: several values of one name are a list.
 */
export function grouped(pairs: Iterable<readonly [string, unknown]>): Map<string, string | string[]> {
  const groups = new Map<string, string | string[]>()
  for (const [name, value] of pairs) {
    const lower = name.toLowerCase()
    const known = groups.get(lower)
    groups.set(lower, known === undefined ? toHeader(value) : [known, toHeader(value)].flat())
  }
  return groups
}

export function toHeader(value: unknown): string | string[] {
  return Array.isArray(value) ? value.map(String) : String(value)
}

/** Scripts of other origins see a header only when they are told of it. */
export const EXPOSED = 'access-control-expose-headers'

/** The names of several lists, each once. */
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

/** A reply adds to what was exposed before it, as by CORS middleware outside of the keys. */
export function withExposedBefore(
  headers: Map<string, string | string[]>,
  before: unknown,
): Map<string, string | string[]> {
  const own = headers.get(EXPOSED)
  return own === undefined || before === undefined ? headers : headers.set(EXPOSED, exposed(before, own))
}
