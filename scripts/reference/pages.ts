import { alertsSchema } from '../../src/alerts/config.ts'
import { optionsSchema as effectOptions } from '../../src/effects/effect.ts'
import { destinationSchema } from '../../src/forward/destination.ts'
import { configSchema, routeSchema, sourceSchema } from '../../src/gateway/config/schema.ts'
import { optionsSchema as inlineOptions } from '../../src/inline/options.ts'
import { ledgersObject } from '../../src/input/ledgers-options.ts'
import { circuitOptions } from '../../src/input/limiter-options.ts'
import { completerSchema } from '../../src/keys/complete.ts'
import { openTelemetrySchema } from '../../src/observe/opentelemetry/index.ts'
import { optionsSchema, outboxSchema, subscriberSchema } from '../../src/options.ts'
import { optionsSchema as sourceOptions } from '../../src/sources/options.ts'
import { ruleTable } from './alerts.ts'
import { routeSections, routeTable } from './api.ts'
import type { Block } from './blocks.ts'
import { commandTable, exitCodeTable, helpText, synopsis, toolTable } from './cli.ts'
import { entryTable } from './entries.ts'
import { errorTable } from './errors.ts'
import { keysTable } from './keys.ts'
import { metricTable } from './metrics.ts'
import { optionTable } from './options.ts'
import { categoryTable, evidenceTable, providerTables } from './providers.ts'

/** Commands whose section begins with how they are called, and goes on in prose. */
const EXPLAINED = [
  'dev',
  'serve',
  'doctor',
  'status',
  'stats',
  'events',
  'show',
  'failures',
  'replay',
  'reconcile',
  'import',
  'prune',
  'outbox',
  'subscribers',
  'token',
  'verify',
  'trigger',
  'listen',
  'completion',
]

/** Commands whose section is their help text. */
const HELP = [
  'config-schema',
  'migrate',
  'ledgers',
  'alerts',
  'attention',
  'rejections',
  'pause',
  'encryption',
  'audit',
  'sources',
]

/** By page: the blocks, by name. */
const pages: Readonly<Record<string, Readonly<Record<string, Block['text']>>>> = {
  'reference/library': {
    'options of hookonce()': () => optionTable(optionsSchema),
    'options of .on()': () => optionTable(subscriberSchema),
    'options of circuit': () => optionTable(circuitOptions, { head: 'option of `circuit`' }),
  },
  'reference/effects': { 'options of ctx.effect()': () => optionTable(effectOptions) },
  'reference/outbox': {
    'options of outbox': () => optionTable(outboxSchema, { head: 'option of `outbox`' }),
  },
  'reference/sources': {
    'options of every source': () => optionTable(sourceOptions),
    'providers by category': categoryTable,
  },
  'reference/providers': { evidence: evidenceTable, providers: providerTables },
  'reference/inline': { 'options of inline()': () => optionTable(inlineOptions) },
  'reference/keys': {
    'options of keys': keysTable,
    'options of startCompleter()': () =>
      optionTable(completerSchema, { head: 'option of `startCompleter(tasks, options)`' }),
  },
  'reference/gateway': {
    'options of a configuration': () => optionTable(configSchema),
    'options of its sources': () => optionTable(sourceSchema),
    'keys of a route': () => optionTable(routeSchema, { head: 'key' }),
  },
  'reference/forwarding': { 'options of a destination': () => optionTable(destinationSchema) },
  'reference/alerts': {
    rules: ruleTable,
    'options of alerts': () => optionTable(alertsSchema, { head: 'key' }),
  },
  'reference/tracing': { 'options of openTelemetry()': () => optionTable(openTelemetrySchema) },
  scaling: { 'options of ledgers': () => optionTable(ledgersObject) },
  'reference/errors': { errors: errorTable },
  'reference/metrics': {
    counters: () => metricTable('counter'),
    histograms: () => metricTable('histogram'),
    gauges: () => metricTable('gauge'),
  },
  'reference/api': { routes: routeTable },
  'reference/api-routes': { 'sections of routes': routeSections },
  'reference/entries': { entries: entryTable },
  'reference/cli': {
    commands: commandTable,
    'exit codes': exitCodeTable,
    ...Object.fromEntries(EXPLAINED.map((name) => [`usage of ${name}`, () => synopsis(name)])),
    ...Object.fromEntries(HELP.map((name) => [`help of ${name}`, () => helpText(name)])),
  },
  'reference/prove': { 'usage of prove': () => synopsis('prove') },
  'reference/mcp': {
    'usage of mcp': () => synopsis('mcp'),
    tools: () => toolTable(false),
    'tools that change': () => toolTable(true),
  },
}

/** Every generated block. */
export const blocks: readonly Block[] = Object.entries(pages).flatMap(([page, byName]) =>
  Object.entries(byName).map(([name, text]) => ({ page: `docs/${page}.md`, name, text })),
)
