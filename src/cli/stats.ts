import { readStats, type Stats, type StatsTotals, type SubscriberStats } from '../operate/stats.ts'
import { type Command, ledgerOptions, parse, parseDuration } from './command.ts'
import { parseSource, requireNames } from './filter.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'
import { type TenantColumn, tenantColumn } from './tenant-column.ts'

const usage = `hookonce stats [--since 24h] [--source NAME] [--subscriber NAME] [--tenant NAME] [--json] [--dir DIR]

Counts deliveries by source and attempts by subscriber, over the last hour, day or week: --since is from 1m to 7d.
--subscriber counts only the attempts of one. --json also prints the series: per minute up to 1h, per ten minutes up to 24h, per hour up to 7d.`

export const stats: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...ledgerOptions,
      since: { type: 'string', default: '24h' },
      source: { type: 'string' },
      subscriber: { type: 'string' },
      tenant: { type: 'string' },
    })
    const place = { ...parseSource({ usage }, values), subscriber: values.subscriber }
    const windowMs = parseDuration({ usage }, values.since)
    const { found, column } = await withLedger(values.dir, async (ledger) => {
      await requireNames(ledger, place)
      return { found: await readStats(ledger, { windowMs, ...place }), column: await tenantColumn(ledger) }
    })
    if (values.json) return printJson(found)
    print(asText(found, column))
  },
}

function asText({ since, until, totals, sources, subscribers }: Stats, column: TenantColumn): string {
  const head = `since ${clock(since)}, until ${clock(until)}`
  if (sources.length === 0) return `${head}\n\nnothing was counted (processes write their counts every 10 s)`
  const rows: [readonly string[], StatsTotals][] = sources.map((row) => [
    [...column.cell(row.tenant), safe(row.source)],
    row,
  ])
  if (sources.length > 1) rows.push([['all', ...column.head.map(() => '')], totals])
  const blocks = [
    head,
    table(
      [
        ...column.head,
        'SOURCE',
        'RECEIVED',
        'DUPLICATE',
        'MISMATCH',
        'UNWANTED',
        'REJECTED',
        'ACCEPT P50',
        'P99',
      ],
      rows.map(([names, row]) => [
        ...names,
        ...[row.received, row.duplicate, row.mismatch, row.unwanted, row.rejected].map(String),
        latency(row.acceptP50Ms),
        latency(row.acceptP99Ms),
      ]),
    ),
    subscribers.length > 0 &&
      table(
        [...column.head, ...SUBSCRIBER_HEAD],
        subscribers.map((row) => cells(row, column)),
      ),
    `repeats that did no harm: ${totals.harmlessRepeats} (deliveries ${totals.duplicate - totals.mismatch}, effects ${totals.spared})`,
  ]
  return blocks.filter(Boolean).join('\n\n')
}

const SUBSCRIBER_HEAD = [
  'SOURCE',
  'SUBSCRIBER',
  'PROCESSED',
  'STALE',
  'RETRYING',
  'FAILED',
  'ATTENTION',
  'NOT REPEATED',
]

function cells(row: SubscriberStats, column: TenantColumn): string[] {
  const counts = [row.processed, row.stale, row.retrying, row.failed, row.attention, row.spared]
  return [...column.cell(row.tenant), safe(row.source), safe(row.subscriber), ...counts.map(String)]
}

function latency(ms: number | null): string {
  return ms === null ? '-' : `≤ ${ms} ms`
}
