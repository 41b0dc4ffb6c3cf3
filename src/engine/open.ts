import { type Diagnoses, diagnoses } from '../delivery/diagnoses.ts'
import { guardOf } from '../delivery/guard.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { addressSet } from '../http/addresses.ts'
import { type Ledger, type LedgerTables, openLedger } from '../ledger/ledger.ts'
import { parseMasterKeys } from '../ledger/vault/master-keys.ts'
import { anyTypeMatcher } from '../model/interest.ts'
import type { Observer } from '../observe/observer.ts'
import { type CheckedOptions, encryptionKeys, keySeconds, outboxOf } from '../options.ts'
import type { Subscriber } from '../process/subscriber.ts'
import { type Acceptor, acceptor, type HandOff } from '../receive/accept.ts'
import { type ListedEvents, listedEvents } from '../receive/listed.ts'
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
  /** Records events that a provider's API listed. Undefined if no recorded source has this name. */
  readonly listed: (source: string) => ListedEvents | undefined
}

export interface OpenOptions {
  readonly options: CheckedOptions
  readonly subscriptions: readonly Subscription[]
  /** Sources that are handled inside their requests. */
  readonly inlined: ReadonlySet<string>
  readonly handOff: HandOff
  readonly observer: Observer
  /** Set if the process has several ledgers: confirms that the tenants live in this one. */
  readonly confirm?: ((ledger: LedgerTables) => Promise<void>) | undefined
}

/** Opens the ledger and wires the receiver over it. Closes the ledger again if the wiring fails. */
export async function openStages(given: OpenOptions): Promise<OpenStages> {
  const { options, subscriptions, inlined } = given
  requireDatabase(options)
  requireSubscribers(options, new Set([...inlined, ...subscriptions.map(({ source }) => source)]))
  const masterKeys = parseMasterKeys(await encryptionKeys(options), 'hookonce(): encryption.key')
  const ledger = await openLedger({
    masterKeys,
    database: options.database,
    dir: options.dir,
    schema: options.schema,
    migrate: options.migrate,
    maxConnections: options.maxConnections,
    prepare: options.prepare,
    durability: options.durability,
    relays: outboxOf(options) !== undefined,
    isOneOfMany: given.confirm !== undefined,
    onNotice: (notice) => given.observer.warning?.(notice),
  })
  try {
    await given.confirm?.(ledger)
    // Without the key, new events of the tenant would be stored unencrypted.
    await ledger.vault.requireKeys(Object.values(options.sources).map(({ tenant }) => tenant))
    await warnOfEphemeral(ledger, given.observer)
    return await wireReceiver(ledger, given)
  } catch (error) {
    await ledger.close()
    throw error
  }
}

async function wireReceiver(ledger: Ledger, given: OpenOptions): Promise<OpenStages> {
  const { options, subscriptions, inlined, handOff, observer } = given
  const subscribers = await register({ ledger, options, subscriptions, observer })
  const sources = Object.entries(options.sources).map(([name, source]) => ({ name, source }))
  const rejections = rejectionLog(ledger.pool, observer)
  const diagnosing = diagnoses(sources, rejections, observer)
  const accepting = acceptor(ledger, handOff, observer)
  const isTrustedProxy = addressSet(options.trustedProxies)
  const guards = new Map(
    Object.entries(options.sourceLimits).map(([name, limits]) => [name, guardOf(limits, isTrustedProxy)]),
  )
  const subscribed = sources.map(({ name, source }) => ({
    name,
    source,
    guard: guards.get(name),
    keySeconds: keySeconds(options, source),
    subscribers: subscribers
      .filter((subscriber) => subscriber.sourceName === name)
      .map(({ id, patterns, wants, orderKeyOf }) => ({
        id,
        matches: anyTypeMatcher(patterns),
        wants,
        orderKeyOf,
      })),
  }))
  const receiving = receiver({
    sources: subscribed,
    shards: ledger.shards,
    acceptor: accepting,
    rejections,
    diagnoses: diagnosing,
    limits: options.limits,
    observer,
  })
  const listed = listedEvents({ ledger, acceptor: accepting, sources: subscribed })
  return {
    ledger,
    subscribers,
    acceptor: accepting,
    receiver: tracedReceiver(receiving, observer),
    rejections,
    diagnoses: diagnosing,
    listed: (name) => (inlined.has(name) ? undefined : listed(name)),
  }
}
