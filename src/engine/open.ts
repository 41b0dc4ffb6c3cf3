import { type Diagnoses, diagnoses } from '../delivery/diagnoses.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { type Ledger, openLedger } from '../ledger/ledger.ts'
import { typeMatcher } from '../model/type-pattern.ts'
import type { Observer } from '../observe/observer.ts'
import { type CheckedOptions, keySeconds } from '../options.ts'
import type { Subscriber } from '../process/subscriber.ts'
import { type Acceptor, acceptor, type HandOff } from '../receive/accept.ts'
import { receiver } from '../receive/receive.ts'
import { type RejectionLog, rejectionLog } from '../receive/rejections.ts'
import type { Subscription } from '../subscription.ts'
import { requireDatabase, requireSubscribers, warnOfEphemeral } from './preconditions.ts'
import { register } from './register.ts'
import { tracedReceiver } from './traced.ts'

/** An open ledger, and the receiver over it. */
export interface OpenStages {
  readonly ledger: Ledger
  readonly subscribers: readonly Subscriber[]
  readonly acceptor: Acceptor
  readonly receiver: Receiver
  readonly rejections: RejectionLog
  readonly diagnoses: Diagnoses
}

export interface OpenOptions {
  readonly options: CheckedOptions
  readonly subscriptions: readonly Subscription[]
  /** Sources that are handled inside their requests. */
  readonly inlined: ReadonlySet<string>
  readonly handOff: HandOff
  readonly observer: Observer
}

/** Opens the ledger and wires the receiver over it. Closes the ledger again if that fails. */
export async function openStages(given: OpenOptions): Promise<OpenStages> {
  const { options, subscriptions, inlined } = given
  requireDatabase(options)
  requireSubscribers(options, new Set([...inlined, ...subscriptions.map(({ source }) => source)]))
  const ledger = await openLedger({
    database: options.database,
    dir: options.dir,
    migrate: options.migrate,
    maxConnections: options.maxConnections,
    prepare: options.prepare,
    durability: options.durability,
    relays: options.outbox !== undefined,
    onNotice: (notice) => given.observer.warning?.(notice),
  })
  try {
    await warnOfEphemeral(ledger, given.observer)
    return await wireReceiver(ledger, given)
  } catch (error) {
    await ledger.close()
    throw error
  }
}

async function wireReceiver(ledger: Ledger, given: OpenOptions): Promise<OpenStages> {
  const { options, subscriptions, handOff, observer } = given
  const subscribers = await register({ ledger, options, subscriptions, observer })
  const sources = Object.entries(options.sources).map(([name, source]) => ({ name, source }))
  const rejections = rejectionLog(ledger.pool, observer)
  const diagnosing = diagnoses(sources, rejections, observer)
  const accepting = acceptor(ledger, handOff, observer)
  const receiving = receiver({
    sources: sources.map(({ name, source }) => ({
      name,
      source,
      keySeconds: keySeconds(options, source),
      subscribers: subscribers
        .filter((subscriber) => subscriber.sourceName === name)
        .map(({ id, pattern, orderKeyOf }) => ({ id, matches: typeMatcher(pattern), orderKeyOf })),
    })),
    shards: ledger.shards,
    acceptor: accepting,
    rejections,
    diagnoses: diagnosing,
    limits: options.limits,
    observer,
  })
  return {
    ledger,
    subscribers,
    acceptor: accepting,
    receiver: tracedReceiver(receiving, observer),
    rejections,
    diagnoses: diagnosing,
  }
}
