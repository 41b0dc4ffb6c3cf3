import { typeMatcher } from './type-pattern.ts'

/*
 * The interest of a subscriber, as the ledger stores it: patterns of event types, and whether a
 * filter chooses among the events of these types. Only the process that receives has the filter
 * itself.
 */

const BETWEEN = ', '
const FILTERED = ' (filtered)'

export function interestText(patterns: readonly string[], isFiltered: boolean): string {
  return `${patterns.join(BETWEEN)}${isFiltered ? FILTERED : ''}`
}

export interface Interest {
  wantsType(type: string): boolean
  /** Whether a filter chooses among the events of these types. */
  readonly isFiltered: boolean
}

export function interestOf(text: string): Interest {
  const isFiltered = text.endsWith(FILTERED)
  const patterns = (isFiltered ? text.slice(0, -FILTERED.length) : text).split(BETWEEN)
  return { wantsType: anyTypeMatcher(patterns), isFiltered }
}

/** Matches a type that one of the patterns matches. */
export function anyTypeMatcher(patterns: readonly string[]): (type: string) => boolean {
  const matchers = patterns.map(typeMatcher)
  const [only, ...others] = matchers
  if (only && others.length === 0) return only
  return (type) => matchers.some((matches) => matches(type))
}
