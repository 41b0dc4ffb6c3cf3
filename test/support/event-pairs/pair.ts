/**
 * Two events of one documented kind that differ in as little as the provider lets them, and what
 * another attempt of the first changes. The two must get two keys, and the attempts one.
 */
export interface EventPair {
  /** The body: JSON, or the fields of a form. */
  readonly event: object
  /** What the other event has instead, merged into the body. */
  readonly other?: object
  /** What another attempt of the first has instead. */
  readonly attempt?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly otherHeaders?: Readonly<Record<string, string>>
  readonly attemptHeaders?: Readonly<Record<string, string>>
  /** Why a retry cannot be told from a second event: then it is one. */
  readonly retryIsNew?: string
}

/** By provider and kind. */
export type EventPairs = Readonly<Record<string, Readonly<Record<string, EventPair>>>>

/** What another event has instead: objects and arrays are merged, anything else is replaced. */
export function merged(base: unknown, change: unknown): unknown {
  if (change === undefined) return base
  if (Array.isArray(base) && Array.isArray(change))
    return Array.from({ length: Math.max(base.length, change.length) }, (_, at) =>
      at in change ? merged(base[at], change[at]) : base[at],
    )
  if (!isRecord(base) || !isRecord(change)) return change
  const entries = Object.entries(change).map(([name, value]) => [name, merged(base[name], value)] as const)
  return { ...base, ...Object.fromEntries(entries) }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
