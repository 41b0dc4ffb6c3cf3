import type { Delivery } from '../contract.ts'
import { type CheckedDescription, needsUrl } from '../description.ts'
import type { Endpoint } from '../schemes/endpoint.ts'
import type { Alternative } from './alternatives.ts'

/** The endpoint under the other URLs by which the provider may know it: proxies change scheme, host, port and path. */
export function* otherUrls(
  delivery: Delivery,
  description: CheckedDescription,
  endpoint: Endpoint,
): Iterable<Alternative> {
  if (!needsUrl(description)) return
  const own = endpoint.urlOf(delivery)
  for (const url of spellings(delivery, own)) {
    yield {
      // A query may hold a token: it is not told.
      says: `the provider signed the URL ${withoutQuery(url)}${url.includes('?') ? ' with its query' : ''}, and the option \`url\` makes it ${withoutQuery(own)}${own.includes('?') ? ' with its query' : ''}: register and configure the same`,
      coding: { endpoint: { ...endpoint, registeredUrl: url, urlOf: () => url } },
      cost: 0,
    }
  }
}

function spellings(delivery: Delivery, own: string): Set<string> {
  const parts = /^(https?):\/\/([^/?#]+)([^?#]*)(\?.*)?$/s.exec(own)
  const [, scheme = 'https', host = '', path = '/', query = ''] = parts ?? []
  const [seenPath = '/', seenQuery = ''] = split(delivery.url)
  const hosts = [host, delivery.header('host'), first(delivery.header('x-forwarded-host'))]
  const paths = [path, seenPath, path.endsWith('/') ? path.slice(0, -1) : `${path}/`]
  const queries = [query, seenQuery, '']
  const found = new Set<string>()
  // The likeliest first: what is cut off by the bound on trials is what several proxies at once would have to do.
  for (const name of hosts)
    for (const where of paths)
      for (const asked of queries)
        for (const how of [scheme, scheme === 'https' ? 'http' : 'https'])
          if (name) found.add(`${how}://${name}${where}${asked}`)
  found.delete(own)
  return found
}

function split(url: string): [path: string, query: string] {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark)]
}

function first(list: string | undefined): string | undefined {
  return list?.split(',', 1)[0]?.trim()
}

function withoutQuery(url: string): string {
  return split(url)[0].slice(0, 200)
}
