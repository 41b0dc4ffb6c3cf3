import { HookonceError } from '../../model/errors.ts'
import type { CheckedDescription } from '../description.ts'
import { partsOf, pathSteps } from '../places.ts'
import { itemPaths } from '../schemes/locate.ts'
import { Matcher } from './matcher.ts'
import type { Rules } from './rules.ts'

/*
 * The identity of an event is stored in separate columns, and parts of it are read again from the
 * stored body when a job runs. So a rule must not hide it. Only the id of the object can be hidden.
 */

const WHAT = {
  key: 'the key of the event',
  type: 'the type of the event',
  occurredAt: 'the time of the event',
  version: 'the version of its object',
} as const

export function refuseIdentityRules({ provider, event, batch }: CheckedDescription, rules: Rules): void {
  for (const [field, what] of Object.entries(WHAT)) {
    for (const place of placesIn(event[field as keyof typeof WHAT])) {
      if (!hides(rules, place, batch)) continue
      throw new HookonceError(
        'CONFIG_INVALID',
        `${provider}: redact: a rule hides ${place}, but hookonce stores ${what}, which is read from there; name other values, or declare another place`,
      )
    }
  }
}

/**
 * Whether a rule hides a place of the object's id. If so, the id is not stored in its column
 * either.
 */
export function hidesObjectId({ event, batch }: CheckedDescription, rules: Rules): boolean {
  return placesIn(event.objectId).some((place) => hides(rules, place, batch))
}

/** The places in the declaration of one value, which may combine several. */
function placesIn(declared: unknown): string[] {
  if (typeof declared === 'string') return /^(json|item|form|header):/.test(declared) ? [declared] : []
  if (typeof declared !== 'object' || declared === null) return []
  // The names of conditions are places too. A hashed value is stored only as its hash, so a rule may
  // hide it.
  return Object.entries(declared)
    .filter(([name]) => name !== 'hash' && name !== 'optional')
    .flatMap(([name, value]) => [...placesIn(name), ...placesIn(value)])
}

function hides(
  { paths, fields, headers }: Rules,
  place: string,
  batch: CheckedDescription['batch'],
): boolean {
  const [kind, rest] = partsOf(place)
  if (kind === 'header') return headers.has(rest.toLowerCase())
  // The rule `$` hides the whole body on purpose: jobs then get the identity from the columns.
  const matcher = new Matcher(paths.filter((path) => path.length > 0))
  if (kind === 'form') return fields.has(rest)
  const before = kind === 'item' ? itemPaths(batch) : [[]]
  return before.some((steps) => isHiddenAt(matcher, [...steps, ...pathSteps(rest)]))
}

function isHiddenAt(matcher: Matcher, steps: readonly string[]): boolean {
  let progress: ReturnType<Matcher['below']> = matcher.start
  for (const step of steps) {
    progress = progress && matcher.below(progress, step === '[]' ? 0 : step)
    if (progress === undefined) return false
    if (matcher.isHidden(progress)) return true
  }
  return false
}
