import { burstOf, type CircuitOptions, type RateOptions } from '../input/limiter-options.ts'
import { registerLimiter } from '../ledger/jobs/limiters.ts'
import { registerSource, registerSubscriber } from '../ledger/jobs/subscribers.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { interestText } from '../model/interest.ts'
import { sourceNameOf } from '../model/source-key.ts'
import type { Observer } from '../observe/observer.ts'
import { bodySeconds, type CheckedOptions, keySeconds, retryPolicy } from '../options.ts'
import { Circuit } from '../process/circuit.ts'
import type { Limiter, SlotGroup, Subscriber } from '../process/subscriber.ts'
import { filterReader } from '../receive/filters.ts'
import { orderKeyReader } from '../receive/order-keys.ts'
import type { Subscription } from '../subscription.ts'

export interface RegisteredSubscriber extends Subscriber {
  readonly patterns: readonly string[]
  /** Selects among the events of its types. Undefined: the subscriber gets all of them. */
  readonly wants?: ((event: Event) => boolean) | undefined
}

interface Registration {
  readonly ledger: Ledger
  readonly options: CheckedOptions
  readonly subscriptions: readonly Subscription[]
  readonly observer: Observer
}

/** Records sources and subscribers in the ledger, where jobs refer to them by number. */
export async function register({
  ledger,
  options,
  subscriptions,
  observer,
}: Registration): Promise<RegisteredSubscriber[]> {
  for (const [name, source] of Object.entries(options.sources)) {
    await registerSource(ledger.pool, {
      tenant: source.tenant,
      name: sourceNameOf(name),
      keySeconds: keySeconds(options, source),
      bodySeconds: bodySeconds(options),
    })
  }
  const limits = limitsBy(ledger)
  const subscribers: RegisteredSubscriber[] = []
  for (const { source: sourceName, patterns, name, handler, options: own } of subscriptions) {
    const source = options.sources[sourceName]
    if (!source) throw new HookonceError('CONFIG_INVALID', `no source is named "${sourceName}"`)
    const { tenant } = source
    const { slotGroup, limiter } = await limits({
      name: own.limiter ?? `${tenant}/${sourceNameOf(sourceName)}/${name}`,
      circuit: own.circuit === 'off' ? undefined : own.circuit,
      rate: own.rate,
      concurrency: own.concurrency ?? options.concurrency,
    })
    const id = await registerSubscriber(ledger.pool, {
      tenant,
      source: sourceNameOf(sourceName),
      name,
      pattern: interestText(patterns, own.filter !== undefined),
      limiter: limiter?.id,
    })
    subscribers.push({
      id,
      tenant,
      sourceName,
      source,
      name,
      patterns,
      handler,
      slotGroup,
      limiter,
      timeoutMs: own.timeoutMs,
      retry: retryPolicy(options.retry, own.retry),
      wants: own.filter && filterReader(own.filter, observer),
      orderKeyOf: own.ordered && orderKeyReader(id, own.ordered, observer),
    })
  }
  return subscribers
}

interface Limits {
  /** Unique in the ledger. A name without a slash was chosen by the user. */
  readonly name: string
  readonly circuit: CircuitOptions | undefined
  readonly rate: RateOptions | undefined
  readonly concurrency: number
}

interface RegisteredLimits {
  readonly slotGroup: SlotGroup
  readonly limiter: Limiter | undefined
}

/** Subscribers that name the same limiter get the same objects. */
function limitsBy(ledger: Ledger): (limits: Limits) => Promise<RegisteredLimits> {
  const known = new Map<string, { readonly limits: Limits; readonly registered: RegisteredLimits }>()
  return async (limits) => {
    const before = known.get(limits.name)
    if (before && JSON.stringify(before.limits) !== JSON.stringify(limits)) {
      throw new HookonceError(
        'CONFIG_INVALID',
        `the subscribers of limiter "${limits.name}" differ in circuit, rate or concurrency; pass the same to each of them`,
      )
    }
    if (before) return before.registered
    const { name, circuit, rate, concurrency } = limits
    const registered = {
      slotGroup: { concurrency },
      limiter: circuit || rate ? await makeLimiter(ledger, { name, circuit, rate }) : undefined,
    }
    known.set(name, { limits, registered })
    return registered
  }
}

async function makeLimiter(
  { pool }: Ledger,
  { name, circuit, rate }: Omit<Limits, 'concurrency'>,
): Promise<Limiter> {
  const id = await registerLimiter(pool, {
    name,
    hasCircuit: circuit !== undefined,
    rate: rate && { perSecond: rate.perSecond, burst: burstOf(rate) },
  })
  return { id, name, circuit: circuit && new Circuit(circuit), rate }
}
