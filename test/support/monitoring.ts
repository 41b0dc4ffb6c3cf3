import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { mergeLedgers } from '../../src/observe/merge-ledgers.ts'
import { type Meter, meter } from '../../src/observe/metrics.ts'
import type { AttemptFact, DeliveryFact, MessageFact } from '../../src/observe/observer.ts'
import type { MetricsSnapshot } from '../../src/observe/snapshot.ts'

/* The dashboard and the alert rules, and the metrics that are exported for them. */

const ROOT = new URL('../../', import.meta.url)
const DASHBOARD = fileURLToPath(new URL('deploy/grafana/hookonce.json', ROOT))
export const RULES = fileURLToPath(new URL('deploy/prometheus/hookonce.rules.yml', ROOT))
export const RULE_TESTS = ['hookonce.tests.yml', 'hookonce-weeks.tests.yml'].map((file) =>
  fileURLToPath(new URL(`deploy/prometheus/${file}`, ROOT)),
)

export interface Panel {
  readonly title: string
  readonly type: string
  readonly description?: string
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

export interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export function panels(): Panel[] {
  const { panels: all } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[] }
  return all.filter(({ type }) => type !== 'row')
}

export function rules(): Rule[] {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] }
  return groups.flatMap((group) => group.rules)
}

const DELIVERIES: readonly DeliveryFact['outcome'][] = [
  'recorded',
  'duplicate',
  'mismatch',
  'unwanted',
  'handshake',
  'rejected',
  'shadowed',
]
const ATTEMPTS: readonly AttemptFact['outcome'][] = [
  'processed',
  'stale',
  'retrying',
  'deferred',
  'failed',
  'attention',
  'returned',
  'lost',
]
const MESSAGES: readonly MessageFact['outcome'][] = [
  'published',
  'retrying',
  'failed',
  'returned',
  'lost',
  'crashed',
]

/** A snapshot in which every metric has a sample, of a process with several ledgers. */
export function fullSnapshot(busy: (made: Meter) => void): MetricsSnapshot {
  const made = meter()
  const { observer } = made
  const names = { source: 'stripe', subscriber: 'app' }
  for (const outcome of DELIVERIES)
    observer.delivery({ source: 'stripe', outcome, status: 200, code: 'KEY_MISSING', durationMs: 1 })
  for (const outcome of ATTEMPTS)
    observer.attempt({ ...names, receiptId: '', attempt: 1, outcome, durationMs: 1, ageMs: 1 })
  for (const outcome of MESSAGES)
    observer.message({ messageId: '', topic: 'paid', key: null, attempt: 1, outcome, durationMs: 1 })
  observer.circuit?.({ limiter: 'app', subscribers: [names], state: 'open', wasClosed: true })
  busy(made)
  const backlog = {
    waiting: 1,
    retrying: 1,
    failed: 1,
    attention: 1,
    effectsUnknown: 1,
    stranded: 1,
    unattended: 1,
  }
  const snapshot = made.snapshot({
    jobs: [{ ...names, ...backlog, lagSeconds: 1 }],
    outbox: [{ topic: 'paid', waiting: 1, failed: 1, lagSeconds: 1 }],
    circuits: [{ ...names, isOpen: true }],
  })
  return mergeLedgers([{ ledger: 'hookonce_0', snapshot }])
}
