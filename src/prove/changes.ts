/*
 * The effects of a delivery, in one shape for rows and calls, so that two runs can be compared. Ids
 * and dates of the run's own events are replaced by names. Fields that differ between two baselines
 * prove nothing and are omitted.
 */

/** A changed row, or a call that reached the recording downstream. */
export interface Change {
  /** `public.invoices`, or `POST /emails`. */
  readonly where: string
  readonly kind: 'inserted' | 'updated' | 'deleted' | 'called'
  /** By column, or by path in the body of a call. */
  readonly fields: Readonly<Record<string, string>>
  /** The Idempotency-Key of a call. */
  readonly key?: string | undefined
}

/** A text of this run's own events, and the name that replaces it in comparisons. */
export type Alias = readonly [text: string, name: string]

/** Replaces ids and dates of the run's events in a value by their names. */
export function aliased(value: unknown, aliases: readonly Alias[]): string {
  let text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  for (const [own, name] of aliases) text = text.replaceAll(own, name)
  return text
}

/**
 * Whether an aliased date is the date of an event. The time of this run may begin with the same
 * second, but it has a fraction.
 */
export function isEventDate(text: string): boolean {
  return /^<[^<>]*>$/.test(text)
}

/** The scalar leaves of a JSON value, by path: `lines[0].amount`. */
export function leaves(value: unknown, path = ''): [path: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return [[path === '' ? 'body' : path, value]]
  const entries = Array.isArray(value)
    ? value.map((each, index) => [`${path}[${index}]`, each] as const)
    : Object.entries(value).map(([name, each]) => [path === '' ? name : `${path}.${name}`, each] as const)
  return entries.flatMap(([at, each]) => leaves(each, at))
}

/** `public.invoices|inserted|id`: fields whose values differ between runs that should be equal. */
export type Mask = ReadonlySet<string>

const fieldName = ({ where, kind }: Change, field: string): string => `${where}|${kind}|${field}`

/** The fields whose values differ between two runs of the same deliveries. */
export function maskOf(one: readonly Change[], other: readonly Change[]): Mask {
  const [a, b] = [valuesByField(one), valuesByField(other)]
  const names = new Set([...a.keys(), ...b.keys()])
  return new Set([...names].filter((name) => a.get(name)?.join('\n') !== b.get(name)?.join('\n')))
}

function valuesByField(changes: readonly Change[]): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const change of changes)
    for (const [field, value] of Object.entries(change.fields)) {
      const name = fieldName(change, field)
      values.set(name, [...(values.get(name) ?? []), value].sort())
    }
  return values
}

/** One difference from the expected effects, at one place. */
export interface Difference {
  readonly kind: 'doubled' | 'lost' | 'different'
  readonly where: string
  readonly expected: readonly string[]
  readonly seen: readonly string[]
}

/** Calls with one Idempotency-Key count once: the called service recognises the key. */
export function withoutRepeats(changes: readonly Change[]): { changes: Change[]; repeated: number } {
  const known = new Set<string>()
  const kept = changes.filter(({ where, key }) => {
    if (key === undefined) return true
    const name = `${where}\n${key}`
    return !known.has(name) && known.add(name)
  })
  return { changes: kept, repeated: changes.length - kept.length }
}

export function differences(
  expected: readonly Change[],
  seen: readonly Change[],
  mask: Mask,
): readonly Difference[] {
  const places = new Set([...expected, ...seen].map(({ where }) => where))
  return [...places].sort().flatMap((where): Difference[] => {
    const at = (changes: readonly Change[]): string[] =>
      changes.filter((change) => change.where === where).map((change) => lineOf(change, mask))
    const [wanted, found] = [at(expected), at(seen)]
    const [missing, extra] = [minus(wanted, found), minus(found, wanted)]
    if (missing.length === 0 && extra.length === 0) return []
    return [{ kind: kindOf(wanted, found), where, expected: wanted, seen: found }]
  })
}

/** The text that is shown and compared: `inserted amount=2000 invoice=<object>`. */
export function lineOf(change: Change, mask: Mask): string {
  const fields = Object.entries(change.fields)
    .filter(([field]) => !mask.has(fieldName(change, field)))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, value]) => `${field}=${value}`)
  return [change.kind, ...fields].join(' ')
}

function minus(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return lines.filter((line) => {
    const index = left.indexOf(line)
    if (index >= 0) left.splice(index, 1)
    return index < 0
  })
}

function kindOf(wanted: readonly string[], found: readonly string[]): Difference['kind'] {
  if (found.length > wanted.length) return 'doubled'
  if (found.length < wanted.length) return 'lost'
  return growth(wanted, found) > 0 ? 'doubled' : growth(wanted, found) < 0 ? 'lost' : 'different'
}

/** How much the sums in the same rows grew: 10 for `balance=+20` instead of the expected `+10`. */
function growth(wanted: readonly string[], found: readonly string[]): number {
  const total = (lines: readonly string[]): number =>
    lines
      .flatMap((line) => [...line.matchAll(/=\+?(-?\d+(?:\.\d+)?)(?= |$)/g)])
      .reduce((sum, [, number]) => sum + Number(number), 0)
  return total(found) - total(wanted)
}
