import type { CheckedAlerts } from '../alerts/config.ts'
import { evaluateAlerts, type ReadCircuits } from '../alerts/evaluate.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import type { Observer } from '../observe/observer.ts'
import type { Chore } from './chore.ts'

export interface AlertChoreOptions {
  readonly alerts: CheckedAlerts
  readonly openCircuits?: ReadCircuits | undefined
  readonly observer: Observer
}

/** Among all processes that run it, one evaluates at a time. */
export function evaluateAlertsChore(
  ledger: LedgerTables,
  { alerts, openCircuits, observer }: AlertChoreOptions,
): Chore {
  const everyMs = alerts.everySeconds * 1_000
  return {
    name: 'evaluate-alerts',
    everyMs,
    async run() {
      // The timer is jittered down to half of its interval.
      const evaluated = await evaluateAlerts(ledger, { alerts, openCircuits, everyMs: everyMs / 2 })
      for (const { alert, became } of evaluated?.transitions ?? []) {
        const { id, rule, source, subscriber, says } = alert
        observer.alert?.({ id, rule, source, subscriber, says, became })
      }
      return { changed: evaluated?.transitions.length ?? 0, messages: evaluated?.messages ?? 0 }
    },
  }
}
