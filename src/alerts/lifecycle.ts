import type { Alert, AlertSubject } from '../ledger/alerts/alerts.ts'
import { MINUTE_MS } from '../model/durations.ts'
import type { CheckedAlerts } from './config.ts'
import type { Finding } from './rules.ts'

/*
 * How an alert changes, decided without the database:
 *
 *   (none) ──found──▶ open ──gone for resolveAfterMinutes──▶ resolved
 *                       ▲                                       │
 *                       └── found within reopenWithinMinutes ───┘
 *
 * Apart from that, each alert has been announced as open, or not. Where the two differ, a message
 * is due.
 */

export type Timing = Pick<CheckedAlerts, 'resolveAfterMinutes' | 'reopenWithinMinutes' | 'repeatAfterMinutes'>

export interface Situation {
  readonly now: Date
  /**
   * Open alerts, resolved alerts that may be opened again, and alerts whose end was not announced.
   */
  readonly current: readonly Alert[]
  readonly findings: readonly Finding[]
  readonly newId: () => string
}

export interface Transition {
  readonly alert: Alert
  readonly became: 'opened' | 'reopened' | 'resolved'
}

export interface Changes {
  /** Every alert that is open or changed, in its new state. */
  readonly alerts: readonly Alert[]
  readonly transitions: readonly Transition[]
}

/** Opens, updates and resolves alerts. */
export function changes({ now, current, findings, newId }: Situation, timing: Timing): Changes {
  const bySubject = new Map<string, Alert>()
  // Sorts open alerts last, so that an open alert replaces a resolved one with the same subject.
  for (const alert of current.toSorted(
    (a, b) => Number(b.resolvedAt !== null) - Number(a.resolvedAt !== null),
  ))
    bySubject.set(subjectKey(alert), alert)
  const alerts: Alert[] = []
  const transitions: Transition[] = []
  const seen = new Set<string>()

  for (const finding of findings) {
    const key = subjectKey(finding)
    if (seen.has(key)) continue
    seen.add(key)
    const known = bySubject.get(key)
    const isKnown = known && (known.resolvedAt === null || mayReopen(known.resolvedAt, now, timing))
    const alert = isKnown ? lasting(known, finding, now) : opened(finding, now, newId())
    alerts.push(alert)
    if (!isKnown) transitions.push({ alert, became: 'opened' })
    else if (known.resolvedAt !== null) transitions.push({ alert, became: 'reopened' })
  }
  const found = new Set(alerts.map(({ id }) => id))
  for (const alert of current) {
    if (found.has(alert.id)) continue
    const cleared = alert.resolvedAt === null ? clearing(alert, now, timing) : alert
    alerts.push(cleared)
    if (cleared.resolvedAt !== alert.resolvedAt) transitions.push({ alert: cleared, became: 'resolved' })
  }
  return { alerts, transitions }
}

function opened(finding: Finding, now: Date, id: string): Alert {
  return {
    ...finding,
    id,
    openedAt: now,
    lastSeenAt: now,
    clearSince: null,
    resolvedAt: null,
    notifiedAt: null,
    mutedUntil: null,
    acknowledgedAt: null,
    acknowledgedBy: null,
    acknowledgedWhy: null,
    times: 1,
    announced: false,
  }
}

/** An alert whose end was not announced yet still counts as announced. */
function lasting(alert: Alert, { says }: Finding, now: Date): Alert {
  const times = alert.resolvedAt === null ? alert.times : alert.times + 1
  return { ...alert, times, says, lastSeenAt: now, clearSince: null, resolvedAt: null }
}

function clearing(alert: Alert, now: Date, { resolveAfterMinutes }: Timing): Alert {
  const clearSince = alert.clearSince ?? now
  const isOver = now.getTime() - clearSince.getTime() >= resolveAfterMinutes * MINUTE_MS
  return { ...alert, clearSince, resolvedAt: isOver ? now : null }
}

function mayReopen(resolvedAt: Date, now: Date, { reopenWithinMinutes }: Timing): boolean {
  return now.getTime() - resolvedAt.getTime() < reopenWithinMinutes * MINUTE_MS
}

export interface Announcements {
  readonly opened: readonly Alert[]
  readonly resolved: readonly Alert[]
  /** All alerts. `announced` and `notifiedAt` are up to date. */
  readonly alerts: readonly Alert[]
}

/** Chooses the alerts that need a message. */
export function announcements(
  alerts: readonly Alert[],
  { now, repeatAfterMinutes }: { readonly now: Date } & Pick<Timing, 'repeatAfterMinutes'>,
): Announcements {
  const isMuted = ({ mutedUntil }: Alert): boolean => mutedUntil !== null && mutedUntil > now
  const wasLately = ({ notifiedAt }: Alert): boolean =>
    notifiedAt !== null && now.getTime() - notifiedAt.getTime() < repeatAfterMinutes * MINUTE_MS
  const isOpen = ({ resolvedAt, clearSince }: Alert): boolean => resolvedAt === null && clearSince === null
  const isDue = (alert: Alert): boolean =>
    isOpen(alert) && !alert.announced && !isMuted(alert) && !wasLately(alert)
  const hasEnded = ({ resolvedAt, announced }: Alert): boolean => resolvedAt !== null && announced
  return {
    opened: alerts.filter(isDue),
    resolved: alerts.filter((alert) => hasEnded(alert) && !isMuted(alert)),
    alerts: alerts.map((alert) => {
      if (isDue(alert)) return { ...alert, announced: true, notifiedAt: now }
      return hasEnded(alert) ? { ...alert, announced: false } : alert
    }),
  }
}

function subjectKey({ rule, tenant, source, subscriber }: AlertSubject): string {
  return JSON.stringify([rule, tenant, source, subscriber])
}
