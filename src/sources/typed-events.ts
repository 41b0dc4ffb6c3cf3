import type { Event } from '../model/event.ts'
import type { Source } from './contract.ts'

/* Types that give a subscriber the types of its events. Nothing here exists at run time. */

/** The types that the SDK of a provider has for one event type. */
export interface EventShape {
  readonly payload: unknown
  readonly object: unknown
}

/** The names in a list of event types, without its patterns. */
export type ListedType<List extends readonly string[]> = Exclude<List[number], `${string}*${string}`>

/** The event types of a source. */
export type TypeOf<S> = S extends Source<unknown, unknown, infer Type> ? Type : string

/** The event types that a subscriber may name: a type of the source, or any pattern. */
export type TypePattern<S> = TypeOf<S> | `${string}*${string}`

/**
 * The events of a source that match a type or pattern. A union of one event per type, if the source
 * knows the payloads of its types: comparing `event.type` then narrows it.
 */
export type EventOf<S, Pattern extends string = '*'> = Pattern extends string
  ? S extends Source<infer Payload, infer Subject, infer Type, infer Shapes>
    ? ShapedEvents<Shapes, Pattern> | Unshaped<Payload, Subject, Type, Shapes, Pattern>
    : Event
  : never

type ShapedEvents<Shapes, Pattern extends string> = {
  [Type in MatchingKeys<Shapes, Pattern>]: Shapes[Type] extends EventShape
    ? Event<Shapes[Type]['payload'], Shapes[Type]['object'], Type>
    : never
}[MatchingKeys<Shapes, Pattern>]

/** A key may itself stand for many types: `repository_dispatch.${string}`. */
type MatchingKeys<Shapes, Pattern extends string, Key = keyof Shapes> = Key extends keyof Shapes & string
  ? Key extends MatchingTypes<Pattern>
    ? Key
    : Pattern extends Key
      ? Key
      : never
  : never

/** Events whose shape is not known. `never` if the shapes cover every type of the source. */
type Unshaped<Payload, Subject, Type extends string, Shapes, Pattern extends string> = [
  Exclude<NamedTypes<Type, Pattern>, keyof Shapes>,
] extends [never]
  ? never
  : Event<Payload, Subject, Exclude<NamedTypes<Type, Pattern>, keyof Shapes>>

/**
 * The types of a source that a subscriber named. The compiler cannot distinguish a pattern from
 * other texts.
 */
type NamedTypes<Type extends string, Pattern extends string> = Pattern extends `${string}*${string}`
  ? Type
  : string extends Pattern
    ? Type
    : Pattern

/** The pattern `invoice.*` as a template literal type. */
type MatchingTypes<Pattern extends string> = Pattern extends `${infer Before}*${infer After}`
  ? `${Before}${string}${MatchingTypes<After>}`
  : Pattern
