import { expect, test } from 'vitest'
import { startCli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { configFile, configTo, deliver, destination, ENV, serveArgs } from '../../support/gateway.ts'
import { panels, RULES } from '../../support/monitoring.ts'
import { prometheusServer } from '../../support/prometheus.ts'
import { telemetryFile } from '../../support/telemetry-file.ts'
import { until } from '../../support/until.ts'

interface Vector {
  readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[]
}

interface Exemplars {
  readonly seriesLabels: Record<string, string>
  readonly exemplars: readonly { readonly labels: Record<string, string>; readonly value: string }[]
}

test('a real Prometheus scrapes a gateway with its exemplars, and understands every panel and rule', async () => {
  const db = await freshDatabase()
  const { bodies, url } = await destination()
  const { preloadEnv, spans } = telemetryFile()
  const env = { DATABASE_URL: db.url, ...ENV, ...preloadEnv }
  // Two processes: the first adds up their snapshots, including the exemplars.
  const gateway = startCli(serveArgs(configFile(configTo(url)), '--workers', '2'), env)
  const { port, adminPort } = await gateway.line<{ port: number; adminPort: number }>('adminPort')
  const prometheus = await prometheusServer(`127.0.0.1:${adminPort}`, RULES)
  expect(await deliver(port, 'evt_1')).toBe(202)
  await until('it is forwarded', () => bodies.length === 1)
  const query = (expr: string) => prometheus.get('query', { query: expr }) as Promise<Vector>
  await until('its processing is scraped', async () => {
    const { result } = await query('sum(hookonce_processing_seconds_count)')
    return result[0]?.value[1] === '1'
  })
  const received = await query('hookonce_received_total')
  expect(received.result.map(({ metric, value }) => [metric.source, value[1]])).toEqual([['stripe', '1']])

  const span = (name: string) =>
    until(`${name} is exported`, () => spans().find((ended) => ended.name === name))
  for (const [metric, name] of [
    ['hookonce_accept_seconds_bucket', 'receive stripe'],
    ['hookonce_processing_seconds_bucket', 'process stripe'],
  ] as const) {
    const { traceId, spanId } = await span(name)
    const found = await until(`Prometheus has exemplars of ${metric}`, async () => {
      const now = Date.now() / 1000
      const all = await prometheus.get('query_exemplars', {
        query: metric,
        start: String(now - 600),
        end: String(now + 60),
      })
      return (all as Exemplars[]).length > 0 ? (all as Exemplars[]) : undefined
    })
    expect(found.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels))).toContainEqual({
      trace_id: traceId,
      span_id: spanId,
    })
  }

  for (const { title, targets = [] } of panels())
    for (const { expr } of targets) {
      const asked = expr.replaceAll('$__rate_interval', '1m').replaceAll('$source', '.*')
      expect([title, (await query(asked)).result.length >= 0]).toEqual([title, true])
    }
  const { groups } = (await prometheus.get('rules', {})) as {
    groups: { rules: { name: string; lastError?: string }[] }[]
  }
  const faults = groups.flatMap(({ rules }) => rules.filter(({ lastError }) => lastError))
  expect(faults).toEqual([])
})
