import type { Doors } from '../delivery/doors.ts'
import { type Inline, type InlineHandler, mountedInline } from '../inline/inline.ts'
import type { CheckedOptions } from '../options.ts'
import type { Handler } from '../process/subscriber.ts'
import type { NewSubscription } from '../subscription.ts'
import { createEngine, type Engine } from './engine.ts'
import { createFleet } from './fleet.ts'
import type { InlineSourceOptions } from './inline-sources.ts'
import { hasLedgers } from './stations.ts'

/**
 * The engine behind a façade, and the handlers registered with it. `hookonce/testing` replaces the
 * engine by one on a test database, and again after each simulated crash.
 */
export interface Seat {
  readonly options: CheckedOptions
  readonly engine: Engine
  subscribe(given: NewSubscription): void
  inline(source: string, handler: InlineHandler, options: InlineSourceOptions): Inline
  /** Every handler is registered again with the new engine, wrapped by `wrap`. */
  replace(options: CheckedOptions, wrap: (handler: Handler) => Handler): Engine
}

interface InlineRegistration {
  readonly source: string
  readonly handler: InlineHandler
  readonly options: InlineSourceOptions
  current: Doors
}

export function engineSeat(options: CheckedOptions): Seat {
  const subscriptions: NewSubscription[] = []
  const inlines: InlineRegistration[] = []
  let engine = hasLedgers(options) ? createFleet(options) : createEngine(options)
  return {
    options,
    get engine() {
      return engine
    },
    subscribe(given) {
      engine.subscribe(given)
      subscriptions.push(given)
    },
    inline(source, handler, inlineOptions) {
      const current = engine.inline(source, handler, inlineOptions)
      const registered: InlineRegistration = { source, handler, options: inlineOptions, current }
      inlines.push(registered)
      return mountedInline({
        node: (...given) => registered.current.node(...given),
        fetch: (...given) => registered.current.fetch(...given),
        buffered: (...given) => registered.current.buffered(...given),
      })
    },
    replace(changed, wrap) {
      // One ledger, even if the options name several: tests must not reach their servers.
      engine = createEngine({ ...changed, ledgers: undefined })
      for (const given of subscriptions) engine.subscribe({ ...given, handler: wrap(given.handler) })
      for (const registered of inlines)
        registered.current = engine.inline(registered.source, registered.handler, registered.options)
      return engine
    },
  }
}

const seats = new WeakMap<object, Seat>()

export function setSeat(hooks: object, seat: Seat): void {
  seats.set(hooks, seat)
}

/** Undefined: not created by the `hookonce()` of this copy of the package. */
export function seatOf(hooks: object): Seat | undefined {
  return seats.get(hooks)
}
