import { whyEphemeral } from './ledger/embedded/ephemeral.ts'
import { registerSource, registerSubscriber } from './ledger/jobs/subscribers.ts'
import { type Ledger, openLedger } from './ledger/ledger.ts'
import { HookonceError } from './model/errors.ts'
import { typeMatcher } from './model/type-pattern.ts'
import type { Observer } from './observe/observer.ts'
import { bodySeconds, type CheckedOptions, keySeconds, retryPolicy } from './options.ts'
import type { Subscriber } from './process/subscriber.ts'
import { type Acceptor, acceptor, type HandOff } from './receive/accept.ts'
import { type Diagnoses, diagnoses } from './receive/diagnoses.ts'
import { laneReader } from './receive/lanes.ts'
import { type Receiver, receiver } from './receive/receive.ts'
import { type RejectionLog, rejectionLog } from './receive/rejections.ts'
import type { Subscription } from './subscription.ts'

/** The stages, wired together over one ledger. */
export interface Engine {
  readonly ledger: Ledger
  readonly subscribers: readonly Subscriber[]
  readonly acceptor: Acceptor
  readonly receiver: Receiver
  readonly rejections: RejectionLog
  readonly diagnoses: Diagnoses
}

interface Wiring {
  readonly options: CheckedOptions
  readonly subscriptions: readonly Subscription[]
  readonly inlined: ReadonlySet<string>
  readonly handOff: HandOff
  readonly observer: Observer
}

/** Opens the ledger and wires what receives over it. What works is started apart. */
export async function openEngine({
  options,
  subscriptions,
  inlined,
  handOff,
  observer,
}: Wiring): Promise<Engine> {
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
  })
  try {
    await warnOfEphemeral(ledger, observer)
    const subscribers = await register({ ledger, options, subscriptions, observer })
    const rejections = rejectionLog(ledger.pool, observer)
    const sources = Object.entries(options.sources).map(([name, source]) => ({ name, source }))
    const diagnosing = diagnoses(sources, rejections, observer)
    const accepting = acceptor(ledger, handOff, observer)
    const receiving = receiver({
      sources: sources.map(({ name, source }) => ({
        name,
        source,
        keySeconds: keySeconds(options, source),
        subscribers: subscribers
          .filter((subscriber) => subscriber.sourceName === name)
          .map(({ id, pattern, orderKeyOf }) => ({
            id,
            matches: typeMatcher(pattern),
            laneOf: orderKeyOf,
          })),
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
      receiver: receiving,
      rejections,
      diagnoses: diagnosing,
    }
  } catch (error) {
    await ledger.close()
    throw error
  }
}

type Registered = Subscriber & { readonly pattern: string }

interface Registration {
  readonly ledger: Ledger
  readonly options: CheckedOptions
  readonly subscriptions: readonly Subscription[]
  readonly observer: Observer
}

/** Makes sources and subscribers known to the ledger, where jobs name them by number. */
async function register({ ledger, options, subscriptions, observer }: Registration): Promise<Registered[]> {
  for (const [name, source] of Object.entries(options.sources)) {
    await registerSource(ledger.pool, {
      tenant: source.tenant,
      name,
      keySeconds: keySeconds(options, source),
      bodySeconds: bodySeconds(options),
    })
  }
  const subscribers: Registered[] = []
  for (const { source: sourceName, pattern, name, handler, options: own } of subscriptions) {
    const source = options.sources[sourceName]
    if (!source) throw new HookonceError('CONFIG_INVALID', `no source is named "${sourceName}"`)
    const { tenant } = source
    const id = await registerSubscriber(ledger.pool, { tenant, source: sourceName, name, pattern })
    subscribers.push({
      id,
      tenant,
      sourceName,
      source,
      name,
      pattern,
      handler,
      concurrency: own.concurrency ?? options.concurrency,
      timeoutMs: own.timeoutMs,
      retry: retryPolicy(options.retry, own.retry),
      orderKeyOf: own.ordered && laneReader(id, own.ordered, observer),
    })
  }
  return subscribers
}

/**
 * In production an embedded ledger must be meant: a forgotten DATABASE_URL would look as if all
 * were well.
 */
function requireDatabase({ database, dir }: CheckedOptions): void {
  if (database !== undefined || process.env.NODE_ENV !== 'production') return
  const ways =
    'pass `database: process.env.DATABASE_URL` (on the command line: set DATABASE_URL) with a postgres:// URL'
  throw new HookonceError(
    'CONFIG_INVALID',
    `NODE_ENV is "production", and no database is given: ${ways}, or pass 'embedded' to keep the ledger in an embedded PostgreSQL under ${dir}`,
  )
}

async function warnOfEphemeral({ dataDir }: Ledger, observer: Observer): Promise<void> {
  const why = dataDir === undefined ? undefined : await whyEphemeral(dataDir)
  if (why === undefined) return
  observer.warning?.({
    says: 'the embedded ledger does not last: acknowledged events are lost with its folder',
    detail: `${why}: set \`dir\` (--dir) to a folder that stays, or \`database\` (DATABASE_URL) to a postgres:// URL`,
  })
}

/** A source that nobody listens to would acknowledge and forget: that is never what was meant. */
function requireSubscribers(options: CheckedOptions, wanted: ReadonlySet<string>): void {
  for (const [name, source] of Object.entries(options.sources)) {
    if (source.unwanted === 'record' || wanted.has(name)) continue
    throw new HookonceError(
      'SUBSCRIBER_MISSING',
      `nothing listens to source "${name}", its events would be ignored`,
    )
  }
}
