import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Delivery, NamedSource } from '../sources/contract.ts'
import { headerIn } from '../sources/headers.ts'

/** A request before its body is read. */
export interface Head {
  readonly sourceName: string
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** By lower-case name. */
  header(name: string): string | undefined
  /** Names and values alternate, in the order of arrival. */
  readonly headerPairs: readonly string[]
  /** The address of the connection. Undefined if the platform does not provide it. */
  peerAddress(): string | undefined
}

/** A request to a known source. */
export interface SourceRequest<S extends NamedSource = NamedSource> {
  readonly head: Head
  readonly source: S
  readonly startedAt: number
}

/** A request with a valid signature. */
export interface VerifiedRequest<S extends NamedSource = NamedSource> extends SourceRequest<S> {
  /** Which secret matched, by its position from 1. */
  readonly secret: number
}

export function nodeHead(sourceName: string, request: IncomingMessage): Head {
  return {
    sourceName,
    method: request.method ?? '',
    url: urlOf(request),
    headerPairs: request.rawHeaders,
    header: headerIn(request.headers),
    // Requests of `app.inject()` in tests have no connection.
    peerAddress: () => (request.socket as IncomingMessage['socket'] | undefined)?.remoteAddress,
  }
}

/**
 * The path and the query. A router may have cut `url`, and keeps the whole URL in another property.
 */
export function urlOf(request: IncomingMessage): string {
  return (request as { originalUrl?: string }).originalUrl ?? request.url ?? ''
}

export function fetchHead(sourceName: string, request: Request, peerAddress?: string): Head {
  const url = new URL(request.url)
  return {
    sourceName,
    method: request.method,
    url: `${url.pathname}${url.search}`,
    headerPairs: [...request.headers].flat(),
    header: (name) => request.headers.get(name) ?? undefined,
    peerAddress: () => peerAddress,
  }
}

/** The request in the form that a source reads. */
export function deliveryOf({ method, url, header }: Head, body: Uint8Array): Delivery {
  return { method, url, header, body, receivedAtMs: Date.now() }
}

/** Sets the header `name` to a new id. Replaces a value of the sender. */
export function stamped(head: Head, name: string): Head {
  const stamp = randomUUID()
  const others = withoutHeader(head, name)
  return {
    ...others,
    header: (header) => (header === name ? stamp : others.header(header)),
    headerPairs: [...others.headerPairs, name, stamp],
  }
}

export function withoutHeader(head: Head, name: string): Head {
  const pairs: string[] = []
  for (let at = 0; at + 1 < head.headerPairs.length; at += 2) {
    const [header = '', value = ''] = head.headerPairs.slice(at, at + 2)
    if (header.toLowerCase() !== name) pairs.push(header, value)
  }
  return {
    ...head,
    header: (header) => (header === name ? undefined : head.header(header)),
    headerPairs: pairs,
  }
}
