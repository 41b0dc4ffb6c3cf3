import { registerSource, registerSubscriber } from '../ledger/jobs/subscribers.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { HookonceError } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'
import { bodySeconds, type CheckedOptions, keySeconds, retryPolicy } from '../options.ts'
import type { Subscriber } from '../process/subscriber.ts'
import { orderKeyReader } from '../receive/order-keys.ts'
import type { Subscription } from '../subscription.ts'

export type RegisteredSubscriber = Subscriber & { readonly pattern: string }

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
      name,
      keySeconds: keySeconds(options, source),
      bodySeconds: bodySeconds(options),
    })
  }
  const subscribers: RegisteredSubscriber[] = []
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
      orderKeyOf: own.ordered && orderKeyReader(id, own.ordered, observer),
    })
  }
  return subscribers
}
