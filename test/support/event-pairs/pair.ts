/**
 * Two events of one documented kind that differ as little as the provider allows, and the
 * differences of another attempt of the first. The two events must get two keys, and all attempts
 * of one event the same key.
 */
export interface EventPair {
  /** The body: JSON, or the fields of a form. */
  readonly event: object
  /** The values of the other event, merged into the body. */
  readonly other?: object
  /** The values of another attempt of the first event. */
  readonly attempt?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly otherHeaders?: Readonly<Record<string, string>>
  readonly attemptHeaders?: Readonly<Record<string, string>>
  /** The body is a form, although the description leaves it to the code of the provider. */
  readonly isForm?: true
  /**
   * The reason why a retry cannot be distinguished from a second event. It then counts as a second
   * event.
   */
  readonly retryIsNew?: string
}

/** Pairs, by provider and kind. */
export type EventPairs = Readonly<Record<string, Readonly<Record<string, EventPair>>>>

/** The values of another event: objects and arrays are merged, all other values are replaced. */
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
