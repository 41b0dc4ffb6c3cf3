import { didYouMean } from '../input/closest.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import type { Source } from './contract.ts'

/** A setup that works, but whose handler never runs. */
export interface UnknownType {
  readonly message: string
  readonly detail: string
}

/**
 * Warns of types and patterns that match nothing in the provider's list. Never throws: the provider
 * may have new types. Without a list, returns nothing.
 */
export function unknownTypes(
  { provider, eventTypes }: Pick<Source, 'provider' | 'eventTypes'>,
  patterns: readonly string[],
  where: string,
): UnknownType[] {
  if (eventTypes === undefined) return []
  return patterns
    .filter((pattern) => !isKnown(pattern, eventTypes))
    .map((pattern) => ({
      message: `${where}: no event type of ${provider} ${pattern.includes('*') ? 'matches' : 'is named'} "${pattern}"${didYouMean(pattern, candidates(pattern, eventTypes))}`,
      detail:
        'the handler runs only for events of this type. Ignore this warning if the type is newer than this version of hookonce',
    }))
}

/** Lists may contain patterns, if the users of a provider may name types. */
function isKnown(pattern: string, eventTypes: readonly string[]): boolean {
  const matches = typeMatcher(pattern)
  return eventTypes.some((type) => matches(type) || (type.includes('*') && typeMatcher(type)(pattern)))
}

/**
 * Groups first: `pull_request` means `pull_request.*`, because GitHub always adds the action. A
 * pattern is compared with groups only.
 */
function candidates(pattern: string, eventTypes: readonly string[]): Iterable<string> {
  const groups = new Set(eventTypes.flatMap(groupsOf))
  return pattern.includes('*') ? groups : [...groups, ...eventTypes]
}

/** `customer.subscription.created` is in `customer.*` and in `customer.subscription.*`. */
function groupsOf(type: string): string[] {
  return [...type.matchAll(/[./]/g)].map(({ index }) => `${type.slice(0, index + 1)}*`)
}
