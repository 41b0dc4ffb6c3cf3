import { type Seat, seatOf } from '../engine/seat.ts'
import { HookonceError } from '../model/errors.ts'
import type { Logger } from '../observe/logs.ts'
import type { CustomObserver } from '../observe/observer.ts'
import type { CheckedOptions } from '../options.ts'
import type { Delivery, Source } from '../sources/contract.ts'

/** Short, because tests wait for the next poll. */
const POLL_MS = 20

/** The reports are collected for the errors of the test. */
const silent: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined }

export interface TestPlace {
  readonly schema: string
  /** The database, for the engine. */
  readonly url: string
  /** Whether a factory has made the hooks, on the database of the test. */
  readonly isFactory: boolean
  readonly observers: readonly CustomObserver[]
  readonly moved: (source: Source) => Source
}

/** The options of the user, on the database of the test. */
export function testOptions(checked: CheckedOptions, place: TestPlace): CheckedOptions {
  requireSchema(checked, place.schema)
  const isOwnPool = typeof checked.database === 'object'
  if (isOwnPool && !place.isFactory)
    throw new HookonceError(
      'CONFIG_INVALID',
      'testHooks(): these hooks have a pool, which is on another database; pass a function (database) => hooks that makes the pool',
    )
  return {
    ...checked,
    database: isOwnPool ? checked.database : place.url,
    durability: 'unsafe',
    migrate: 'off',
    pollMs: Math.min(checked.pollMs, POLL_MS),
    // A test sends no messages to the people on call.
    alerts: undefined,
    logger: silent,
    observers: [...checked.observers, ...place.observers],
    sources: Object.fromEntries(
      Object.entries(checked.sources).map(([name, source]) => [name, place.moved(source)]),
    ),
  }
}

/** The source, with arrivals at the time of the test clock. */
export function movedSource(source: Source, shiftMs: () => number): Source {
  const late = (delivery: Delivery): Delivery => ({
    ...delivery,
    receivedAtMs: delivery.receivedAtMs + shiftMs(),
  })
  return {
    ...source,
    verify: (delivery) => source.verify(late(delivery)),
    ...(source.prepare ? { prepare: (delivery) => source.prepare?.(late(delivery)) } : {}),
    ...(source.handshake ? { handshake: (delivery) => source.handshake?.(late(delivery)) } : {}),
  }
}

function requireSchema({ schema }: CheckedOptions, expected: string): void {
  if (schema === expected) return
  throw new HookonceError(
    'CONFIG_INVALID',
    `testHooks(): the ledger of these hooks is the schema "${schema}"; pass { schema: '${schema}' } to testHooks() too`,
  )
}

export function requireSeat(hooks: object): Seat {
  const seat = seatOf(hooks)
  if (seat) return seat
  throw new HookonceError(
    'CONFIG_INVALID',
    'testHooks(): pass what hookonce() returned, or a function (database) => hooks; both must come from one copy of the package hookonce',
  )
}
