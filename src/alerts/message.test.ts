import { expect, test } from 'vitest'
import type { Alert } from '../ledger/alerts/alerts.ts'
import { alertMessage, alertMessageSchema, bodyText, headline, nextCommand } from './message.ts'
import { percent, span } from './words.ts'

const alert: Alert = {
  id: '0a1b2c3d-0000-0000-0000-000000000000',
  rule: 'failures',
  tenant: 'default',
  source: 'stripe',
  subscriber: 'app',
  openedAt: new Date('2026-11-17T15:36:10Z'),
  lastSeenAt: new Date('2026-11-17T15:40:00Z'),
  clearSince: null,
  resolvedAt: null,
  notifiedAt: null,
  mutedUntil: null,
  acknowledgedAt: null,
  acknowledgedBy: null,
  acknowledgedWhy: null,
  times: 1,
  announced: false,
  says: '3 of 9 finished jobs failed for good in the last 15 minutes',
}
const resolved: Alert = { ...alert, resolvedAt: new Date('2026-11-17T15:59:00Z'), times: 2, tenant: 'acme' }
const now = new Date('2026-11-17T16:00:00Z')

test('a message has the condition, its start, its severity and the next command', () => {
  const message = alertMessage({ name: 'production', now, opened: [alert], resolved: [] })
  expect(headline(message)).toBe('[production] open: failures, stripe → app')
  expect(bodyText(message)).toBe(
    [
      'OPEN  failures, stripe → app',
      '  3 of 9 finished jobs failed for good in the last 15 minutes',
      '  since 2026-11-17 15:36 UTC (0a1b2c3d)',
      '  next: hookonce failures --source stripe --subscriber app',
    ].join('\n'),
  )
})

test('a message about a resolved alert has its duration and how often it opened', () => {
  const message = alertMessage({ name: 'production', now, opened: [], resolved: [resolved] })
  expect(headline(message)).toBe('[production] resolved: failures, acme/stripe → app')
  expect(bodyText(message)).toContain(
    'since 2026-11-17 15:36 UTC, until 2026-11-17 15:59 UTC, opened 2 times (0a1b2c3d)',
  )
  expect(bodyText(message)).not.toContain('next:')
})

test('a message lists ten of many alerts, and survives the outbox', () => {
  const opened = Array.from({ length: 12 }, () => alert)
  const message = alertMessage({ name: 'p', now, opened, resolved: [resolved] })
  expect(alertMessageSchema.parse(JSON.parse(JSON.stringify(message)))).toEqual(message)
  expect(headline(message)).toBe('[p] alerts: 10 opened, 1 resolved, 2 more')
  expect(bodyText(message)).toMatch(/and 2 more: hookonce alerts --all$/)
})

test('the next command can be pasted, with any subscriber name', () => {
  const quoted = { rule: 'failures', source: 'stripe', subscriber: `it's; rm -rf $HOME` }
  expect(nextCommand(quoted)).toBe(`hookonce failures --source stripe --subscriber 'it'\\''s; rm -rf $HOME'`)
})

test('durations and shares are rounded for a reader', () => {
  expect([90, 119, 120, 7_199, 7_200, 200_000].map(span)).toEqual([
    '90 seconds',
    '119 seconds',
    '2 minutes',
    '120 minutes',
    '2 hours',
    '2 days',
  ])
  expect(percent(0.1071)).toBe('10.7 %')
})
