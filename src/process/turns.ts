import type { Shares } from '../work/slots.ts'

/*
 * Distributes tokens when there are too few. Tenants take turns, and so do the subscribers of a
 * tenant: the subscriber whose last run was longest ago comes first. The number of taken slots
 * cannot decide this: quick runs leave no slot taken, and a tenant with a backlog would get every
 * token.
 */
export interface Turns {
  /** A run of this subscriber began. */
  recordRun(subscriber: number): void
  /** Divides `tokens` among the subscribers by their demand. */
  divide(tokens: number, wanted: Shares<number>): Map<number, number>
}

export function turns(tenantOf: (subscriber: number) => string): Turns {
  let now = 0
  /** The last turn of each subscriber and tenant. At most one entry per subscriber. */
  const ofTenant = new Map<string, number>()
  const ofSubscriber = new Map<number, number>()

  function isBefore(one: number, other: number, at: Clocks): boolean {
    const ahead = (at.tenants.get(tenantOf(one)) ?? 0) - (at.tenants.get(tenantOf(other)) ?? 0)
    if (ahead !== 0) return ahead < 0
    return (at.subscribers.get(one) ?? 0) < (at.subscribers.get(other) ?? 0)
  }

  return {
    recordRun(subscriber) {
      now += 1
      ofTenant.set(tenantOf(subscriber), now)
      ofSubscriber.set(subscriber, now)
    },
    divide(tokens, wanted) {
      const at: Clocks = { tenants: new Map(ofTenant), subscribers: new Map(ofSubscriber) }
      const given = new Map<number, number>()
      for (let turn = now + 1; turn <= now + tokens; turn += 1) {
        let next: number | undefined
        for (const [subscriber, most] of wanted) {
          if ((given.get(subscriber) ?? 0) >= most) continue
          if (next === undefined || isBefore(subscriber, next, at)) next = subscriber
        }
        if (next === undefined) break
        given.set(next, (given.get(next) ?? 0) + 1)
        at.tenants.set(tenantOf(next), turn)
        at.subscribers.set(next, turn)
      }
      return given
    },
  }
}

interface Clocks {
  readonly tenants: Map<string, number>
  readonly subscribers: Map<number, number>
}
