import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { errorCatalogue } from '../../src/model/errors.ts'
import { EffectBusy } from '../../src/model/handler-errors.ts'
import { prometheusText } from '../../src/observe/prometheus.ts'
import { fullSnapshot, panels, RULE_TESTS, RULES, rules } from '../support/monitoring.ts'
import { promtool } from '../support/prometheus.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

const snapshot = fullSnapshot(({ observer }) => {
  const names = { source: 'stripe', subscriber: 'app', receiptId: '' }
  const fact = { ...names, attempt: 1, outcome: 'deferred', durationMs: 1, ageMs: 1 } as const
  observer.attempt({ ...fact, error: new EffectBusy(1, 'busy') })
  observer.effectEnded?.({ ...names, key: 'k', mode: 'keyed', outcome: 'recorded', durationMs: 1 })
})

/** The labels of every exported series, by its name. */
const exported = new Map<string, ReadonlySet<string>>()
for (const [, name = '', labels = ''] of prometheusText(snapshot).matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+$/gm))
  exported.set(name, new Set([...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label)))

/** Faults of an expression: metrics and labels that are not exported. */
function faultsOf(expr: string): string[] {
  const used = [...expr.matchAll(/\b(hookonce_\w+)(?:\{([^}]*)\})?/g)]
  const faults: string[] = used.length === 0 ? ['names no metric'] : []
  const known = new Set<string>()
  for (const [, name = '', matchers = ''] of used) {
    const labels = exported.get(name)
    if (!labels) {
      faults.push(`${name} is not exported`)
      continue
    }
    for (const label of labels) known.add(label)
    for (const [, label = ''] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g))
      if (!labels.has(label)) faults.push(`${name} has no label ${label}`)
  }
  for (const label of grouping(expr)) if (!known.has(label)) faults.push(`no metric has the label ${label}`)
  for (const [, reasons = ''] of expr.matchAll(/reason=~?"([^"]*)"/g))
    for (const reason of reasons.split('|'))
      if (!Object.hasOwn(errorCatalogue, reason)) faults.push(`there is no reason ${reason}`)
  return faults
}

function grouping(expr: string): string[] {
  return [...expr.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((s) => s.trim()),
  )
}

test('every declared metric has a sample here, so that its labels are known', () => {
  const empty = snapshot.metrics.filter(({ samples }) => samples.length === 0)
  expect(empty.map(({ name }) => name)).toEqual([])
})

test('docs/reference/metrics.md names the labels of each metric', () => {
  const rows = read('docs/reference/metrics.md').matchAll(/^\| `(hookonce_\w+)` \| ([^|]*) \|/gm)
  const listed = Object.fromEntries(
    [...rows].map(([, name = '', labels = '']) => [
      name,
      [...labels.matchAll(/`(\w+)`/g)].map(([, one]) => one),
    ]),
  )
  const coded = Object.fromEntries(
    snapshot.metrics.map(({ name, samples: [first] }) => [name, Object.keys(first?.labels ?? {})]),
  )
  expect(listed).toEqual(coded)
})

test.each([
  ['rate(hookonce_nothing_total[5m])', ['hookonce_nothing_total is not exported']],
  ['hookonce_jobs_failed{tenant="a"}', ['hookonce_jobs_failed has no label tenant']],
  ['sum by (topic) (hookonce_jobs_failed)', ['no metric has the label topic']],
  ['hookonce_rejected_total{reason="NOT_A_CODE"}', ['there is no reason NOT_A_CODE']],
  ['up == 0', ['names no metric']],
])('the check of expressions finds the fault of %s', (expr, faults) => {
  expect(faultsOf(expr)).toEqual(faults)
})

describe('the Grafana dashboard', () => {
  const all = panels()

  test('has at least 14 panels, each with a description', () => {
    expect(all.length).toBeGreaterThanOrEqual(14)
    expect(all.filter(({ description = '' }) => description === '').map(({ title }) => title)).toEqual([])
    expect(new Set(all.map(({ title }) => title)).size).toBe(all.length)
  })

  test.each(all.map((panel) => [panel.title, panel] as const))(
    '%s names what is exported',
    (_title, panel) => {
      expect(panel.targets?.length).toBeGreaterThan(0)
      for (const { expr, legendFormat } of panel.targets ?? []) {
        expect([expr, faultsOf(expr)]).toEqual([expr, []])
        const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
        expect(shown.filter((label) => !grouping(expr).includes(label))).toEqual([])
      }
    },
  )

  test('shows every number of the design by source', () => {
    const exprs = all.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n')
    const counted = ['received', 'duplicate', 'rejected', 'retrying', 'failed', 'stale', 'effect_conflicts']
    const names = [...counted.map((name) => `hookonce_${name}_total`), 'hookonce_accept_seconds_bucket']
    for (const name of [...names, 'hookonce_processing_lag_seconds', 'hookonce_effects_unknown']) {
      expect(exported.get(name)).toContain('source')
      expect(exprs).toContain(name)
    }
  })
})

describe('the alert rules', () => {
  const all = rules()

  test.each(all.map((rule) => [rule.alert, rule] as const))('%s names what is exported', (_name, rule) => {
    expect(faultsOf(rule.expr)).toEqual([])
    const { summary = '', runbook = '' } = rule.annotations
    const shown = [...summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label)
    expect(shown.filter((label) => !grouping(rule.expr).includes(label))).toEqual([])
    expect(['page', 'ticket']).toContain(rule.labels.severity)
    expect(read(runbook)).toContain(`Alert: \`${rule.alert}\``)
  })

  // A long timeout, because Prometheus may have to be installed.
  test('promtool accepts them, and they fire when they should', { timeout: 180_000 }, () => {
    expect(promtool(['check', 'rules', RULES])).toContain(`SUCCESS: ${all.length} rules found`)
    expect(promtool(['test', 'rules', ...RULE_TESTS])).not.toContain('FAILED')
    const tested = RULE_TESTS.map((file) => readFileSync(file, 'utf8')).join('')
    for (const { alert } of all)
      for (const what of ['fires', 'is quiet']) expect(tested).toContain(`name: ${alert} ${what}\n`)
  })

  test('promtool accepts the metrics', () => {
    promtool(['check', 'metrics'], prometheusText(snapshot))
  })
})

describe('the runbooks', () => {
  const pages = readdirSync(`${root}docs/runbooks`).filter((file) => file !== 'README.md')

  test('there is one for each alert, and no other', () => {
    const named = rules().map(({ annotations }) => annotations.runbook?.replace('docs/runbooks/', ''))
    expect(pages.sort()).toEqual(named.sort())
    for (const page of pages) expect(read('docs/runbooks/README.md')).toContain(`(${page})`)
  })

  test.each(pages)('%s has the meaning, the things to check, the actions, and the escalation', (page) => {
    const text = read(`docs/runbooks/${page}`)
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(['What it means', 'What to look at', 'What to do', 'When to wake whom'])
    const named = [...text.matchAll(/^hookonce (\w+)|`hookonce ([a-z-]+)/gm)].map(([, a, b]) => a ?? b)
    const known = new Set(commands.map(({ name }) => name).concat('help'))
    expect(named.filter((name) => name !== undefined && !known.has(name))).toEqual([])
    expect(text).toMatch(/```sh\n/)
    expect(existsSync(`${root}docs/runbooks/${page}`)).toBe(true)
  })
})
