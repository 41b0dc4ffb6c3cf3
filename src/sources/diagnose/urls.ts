import type { Delivery } from '../contract.ts'
import { type CheckedDescription, needsUrl } from '../description.ts'
import type { Endpoint } from '../schemes/endpoint.ts'
import type { Alternative } from './alternatives.ts'

/**
 * URLs that differ least from the configured one are tried first. The limit cuts off URLs that
 * differ in many parts.
 */
const MAX_URLS = 40

/** The limit for headers of unknown senders. No registered URL has a longer part. */
const MAX_CHARS = 2_000

/**
 * Other URLs under which the provider may know the endpoint: proxies change scheme, host, port and
 * path.
 */
export function* otherUrls(
  delivery: Delivery,
  description: CheckedDescription,
  endpoint: Endpoint,
): Iterable<Alternative> {
  if (!needsUrl(description)) return
  const own = endpoint.urlOf(delivery)
  for (const url of spellings(delivery, own)) {
    yield {
      // The query is not reported, because it may contain a token.
      diagnosis: `the provider signed the URL ${redacted(url)}, but the option \`url\` gives ${redacted(own)}; register and configure the same URL, and let no proxy change the query`,
      input: { endpoint: { ...endpoint, registeredUrl: url, urlOf: () => url } },
      cost: 0,
    }
  }
}

interface UrlParts {
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
}

function spellings(delivery: Delivery, own: string): string[] {
  const parts = /^(https?):\/\/([^/?#]+)([^?#]*)(\?.*)?$/s.exec(own)
  const [, scheme = 'https', host = '', path = '/', query = ''] = parts ?? []
  const { hosts, paths, queries } = seenParts(delivery, { scheme, host, path, query })
  const found = new Map<string, number>()
  for (const [a, name] of hosts.entries())
    for (const [b, where] of paths.entries())
      for (const [c, search] of queries.entries())
        for (const [d, how] of [scheme, scheme === 'https' ? 'http' : 'https'].entries()) {
          const url = `${how}://${name}${where}${search}`
          if (!found.has(url)) found.set(url, [a, b, c, d].filter(Boolean).length)
        }
  found.delete(own)
  return [...found]
    .sort(([, one], [, other]) => one - other)
    .slice(0, MAX_URLS)
    .map(([url]) => url)
}

/** Every part of the URL: as configured, then as in the request and in the headers of proxies. */
function seenParts(delivery: Delivery, { host, path, query }: UrlParts) {
  const header = (name: string): string | undefined => {
    const value = delivery.header(name)?.split(',', 1)[0]?.trim()
    return value === undefined || value.length > MAX_CHARS ? undefined : value
  }
  const [seenPath, seenQuery] = split(delivery.url.slice(0, MAX_CHARS))
  const original = ORIGINALS.map(header)
    .find(Boolean)
    ?.replace(/^https?:\/\/[^/]+/, '')
  const [originalPath, originalQuery] = original === undefined ? [] : split(original)
  const prefix = header('x-forwarded-prefix')?.replace(/\/$/, '')
  const forwarded = /\bhost="?([^;,"\s]+)/i.exec(header('forwarded') ?? '')?.[1]
  const hosts = [host, header('host'), header('x-forwarded-host'), forwarded, host.replace(/:\d+$/, '')]
  const paths = [
    path,
    seenPath,
    path.endsWith('/') ? path.slice(0, -1) : `${path}/`,
    originalPath,
    prefix === undefined ? undefined : prefix + seenPath,
  ]
  const queries = [query, seenQuery, originalQuery, '', ...otherQueries(query || seenQuery)]
  return {
    hosts: distinct(hosts).filter((name) => name !== ''),
    paths: distinct(paths),
    queries: distinct(queries),
  }
}

/** Headers in which proxies store the original path and query. */
const ORIGINALS = [
  'x-original-uri',
  'x-original-url',
  'x-rewrite-url',
  'x-forwarded-uri',
  'x-envoy-original-path',
]

/** Queries that a proxy may have re-encoded, extended or sorted. */
function otherQueries(query: string): string[] {
  if (query === '') return []
  const fields = query.slice(1).split('&')
  const written = (list: readonly string[]): string => (list.length === 0 ? '' : `?${list.join('&')}`)
  return [
    query.replaceAll('+', '%20'),
    query.replaceAll('%20', '+'),
    written(fields.slice(0, -1)),
    written(fields.slice(1)),
    written(fields.toSorted()),
    written(fields.toReversed()),
  ]
}

function distinct(values: readonly (string | undefined)[]): string[] {
  return [...new Set(values)].filter((value) => value !== undefined)
}

function split(url: string): [path: string, query: string] {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark)]
}

function redacted(url: string): string {
  return `${split(url)[0].slice(0, 200)}${url.includes('?') ? ' with its query' : ''}`
}
