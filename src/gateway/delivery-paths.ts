import { sourceNameOf } from '../model/source-key.ts'
import type { Sources } from '../options.ts'

const IN = /^\/in\/([^/]+)(?:\/([^/]+))?\/?$/

/**
 * The source that a path names: `/in/:source`, or `/in/:tenant/:source`. The second form finds
 * every source of the tenant, under any key. Undefined if the path is not for deliveries. A name
 * that is not configured is returned unchanged, to be refused and counted.
 */
export function deliveryPaths(sources: Sources): (path: string) => string | undefined {
  const byPath = new Map<string, string>()
  for (const [key, { tenant }] of Object.entries(sources)) {
    byPath.set(key, key)
    byPath.set(`${tenant}/${sourceNameOf(key)}`, key)
  }
  return (path) => {
    const match = IN.exec(path)
    if (!match) return undefined
    const named = match[2] === undefined ? decoded(match[1]) : `${decoded(match[1])}/${decoded(match[2])}`
    return byPath.get(named) ?? named
  }
}

// A segment that cannot be decoded names no source.
function decoded(segment = ''): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
