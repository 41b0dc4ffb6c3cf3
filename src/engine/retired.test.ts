import { expect, test } from 'vitest'
import { meter } from '../observe/metrics.ts'
import { observers } from '../observe/observer.ts'
import { prometheusText } from '../observe/prometheus.ts'
import { checkOptions } from '../options.ts'
import { custom } from '../sources/index.ts'
import { createEngine } from './engine.ts'
import { retiredEngines } from './retired.ts'

const source = custom({
  secret: 'x',
  signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
  event: { key: 'json:id' },
})

/** The engine of a ledger, which was never opened and has received one event. */
function station(ledger: string) {
  const { observer, snapshot } = meter()
  observer.delivery({ source: 'test', outcome: 'recorded', status: 202, durationMs: 1 })
  const engine = createEngine(
    checkOptions({ database: 'postgres://never.used:1/x', sources: { test: source } }),
  )
  return { ledger, engine: { ...engine, snapshot: async () => snapshot(undefined) } }
}

test('engines that have ended leave one snapshot per ledger, with the sums of their counters', async () => {
  const retired = retiredEngines(() => 0, observers([]))
  for (const ledger of ['a', 'b', 'a', 'a']) retired.add(station(ledger))
  expect(await retired.snapshots()).toHaveLength(4)
  await retired.stop(0)
  const left = await retired.snapshots()
  const received = left.map(({ ledger, snapshot }) => [
    ledger,
    /^hookonce_received_total{.*} (\d+)$/m.exec(prometheusText(snapshot))?.[1],
  ])
  expect(received).toEqual([
    ['a', '3'],
    ['b', '1'],
  ])
})
