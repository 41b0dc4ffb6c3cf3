import { signal } from '@preact/signals'
import { client } from '../api.ts'
import type { KnownValues } from './tokens.ts'

/* Values that the search can complete: sources, subscribers, and the event types seen so far. */

export const knownValues = signal<KnownValues>({})
const MAX_TYPES = 500
let readAt = Number.NEGATIVE_INFINITY
const FRESH_MS = 60_000

/** Reads the names, unless they were just read. */
export async function readKnownValues(): Promise<void> {
  if (performance.now() - readAt < FRESH_MS) return
  readAt = performance.now()
  const query = { limit: 200 }
  const [sources, subscribers] = await Promise.all([
    client.get('/sources', { query }),
    client.get('/subscribers', { query }),
  ])
  const tenants = unique(sources.data.map(({ tenant }) => tenant))
  knownValues.value = {
    ...knownValues.peek(),
    source: unique(sources.data.map(({ source }) => source)),
    subscriber: unique(subscribers.data.map(({ subscriber }) => subscriber)),
    tenant: tenants.length > 1 ? tenants : [],
  }
}

/** Remembers types of events, with their families: `invoice.paid` and `invoice.*`. */
export function noteTypes(types: readonly string[]): void {
  const known = knownValues.peek().type ?? []
  const families = types.filter((type) => type.includes('.')).map((type) => `${type.split('.', 1)[0]}.*`)
  const all = unique([...known, ...types, ...families]).slice(0, MAX_TYPES)
  if (all.length !== known.length) knownValues.value = { ...knownValues.peek(), type: all.sort() }
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)]
}
