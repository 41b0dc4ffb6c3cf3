import { didYouMean } from './input/closest.ts'
import { HookonceError } from './model/errors.ts'
import {
  type CheckedOptions,
  type CheckedSubscriberOptions,
  checkSubscriberOptions,
  type SubscriberOptions,
} from './options.ts'
import type { Handler } from './process/subscriber.ts'
import type { Source } from './sources/contract.ts'
import { type UnknownType, unknownTypes } from './sources/unknown-types.ts'

/** A handler and the events it subscribes to. Not yet registered in the ledger. */
export interface Subscription {
  readonly source: string
  /** Types or patterns, at least one. */
  readonly patterns: readonly string[]
  readonly handler: Handler
  readonly name: string
  readonly options: CheckedSubscriberOptions
  /** Patterns that no documented type of the provider matches. */
  readonly warnings: readonly UnknownType[]
}

/** The unchecked arguments of `.on()`. */
export interface NewSubscription {
  readonly source: string
  readonly pattern: string | readonly string[]
  readonly handler: Handler
  readonly options: SubscriberOptions
}

/** Checks the arguments of `.on()`. */
export function subscription(
  options: CheckedOptions,
  existing: readonly Subscription[],
  given: NewSubscription,
): Subscription {
  const { source, pattern, handler } = given
  const patterns = [pattern].flat()
  const where = `.on('${source}', '${patterns.join("', '")}')`
  const configured = sourceNamed(options, source, where)
  if (patterns.length === 0 || patterns.some((one) => typeof one !== 'string' || one === '')) {
    const fault = 'the event type is missing; pass a type, a pattern such as "invoice.*", or "*"'
    throw new HookonceError('CONFIG_INVALID', `${where}: ${fault}`)
  }
  if (typeof handler !== 'function')
    throw new HookonceError('CONFIG_INVALID', `${where}: the handler must be a function`)
  const own = checkSubscriberOptions(given.options, where)
  const name = own.name ?? patterns.join(', ')
  if (existing.some((other) => other.source === source && other.name === name)) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${where}: a subscriber named "${name}" already exists; pass a unique \`name\` in the options`,
    )
  }
  const warnings = unknownTypes(configured, patterns, where)
  return { source, patterns, handler, name, options: own, warnings }
}

export function sourceNamed({ sources }: CheckedOptions, name: string, where: string): Source {
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined
  if (source) return source
  const known = Object.keys(sources)
  throw new HookonceError(
    'CONFIG_INVALID',
    `${where}: no source is named "${name}"${didYouMean(name, known)} (there are: ${known.join(', ') || 'none'})`,
  )
}
