import { expect, test, vi } from 'vitest'
import { Permanent } from '../../../src/index.ts'
import { jsonLogger } from '../../../src/observe/logs.ts'
import { freshDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { SENDER, signed } from '../../support/source.ts'
import { until } from '../../support/until.ts'

function sample(text: string, series: string): number | undefined {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

test('the metrics of a known sequence are exact', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { baseDelayMs: 1, maxDelayMs: 1 } })
  hooks.on(
    'test',
    '*',
    (event, ctx) => {
      if (event.type === 'permanent') throw new Permanent('never')
      if (event.type === 'shaky' && ctx.attempt === 1) throw new Error('not yet')
    },
    { name: 'app' },
  )
  await hooks.start()
  for (const [n, type] of ['good', 'good', 'permanent', 'shaky'].entries())
    await deliver(hooks, { id: `evt_${n}`, type })
  await deliver(hooks, { id: 'evt_0', type: 'good' })
  await hooks.fetch(
    new Request('http://app.test/in/test', { ...signed({ id: 'x', type: 'y' }), headers: {} }),
  )
  await until('all are done', async () => {
    return (await db.number(`select count(*) from hookonce.job where state in ('processed', 'failed')`)) === 4
  })
  await hooks.pause('test')
  await deliver(hooks, { id: 'evt_waiting', type: 'good' })
  // Each run is reported when the reply to its commit has arrived, in any order.
  await until('the attempts are reported', async () => {
    return (
      sample(await hooks.metrics(), 'hookonce_attempt_seconds_count{source="test",subscriber="app"}') === 5
    )
  })

  const { metrics } = await hooks.metrics.snapshot()
  expect(metrics.find(({ name }) => name === 'hookonce_jobs_failed')?.samples).toEqual([
    { labels: { source: 'test', subscriber: 'app' }, value: 1 },
  ])
  const text = await hooks.metrics()
  expect(sample(text, 'hookonce_received_total{source="test"}')).toBe(5)
  expect(sample(text, 'hookonce_duplicate_total{source="test"}')).toBe(1)
  expect(sample(text, 'hookonce_rejected_total{source="test",reason="SIGNATURE_MISSING"}')).toBe(1)
  expect(sample(text, 'hookonce_retrying_total{source="test",subscriber="app"}')).toBe(1)
  expect(sample(text, 'hookonce_failed_total{source="test",subscriber="app"}')).toBe(1)
  expect(sample(text, 'hookonce_processed_total{source="test",subscriber="app"}')).toBe(3)
  expect(sample(text, 'hookonce_attempt_seconds_bucket{source="test",subscriber="app",le="+Inf"}')).toBe(5)
  expect(sample(text, 'hookonce_jobs_waiting{source="test",subscriber="app"}')).toBe(1)
  expect(sample(text, 'hookonce_jobs_retrying{source="test",subscriber="app"}')).toBe(0)
  expect(sample(text, 'hookonce_jobs_failed{source="test",subscriber="app"}')).toBe(1)
  expect(sample(text, 'hookonce_processing_lag_seconds{source="test",subscriber="app"}')).toBeGreaterThan(0)
})

test('a logger that throws harms neither the acknowledgement nor the job', async () => {
  const db = await freshDatabase()
  const broken = (): never => {
    throw new Error('disk full')
  }
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const hooks = testHooks(db, { logger: { info: broken, warn: broken, error: broken } })
  hooks.on('test', '*', () => {
    throw new Permanent('never')
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('the job has failed', () =>
    db.number(`select count(*) from hookonce.job where state = 'failed'`),
  )
  await until('the logger was tried', () => warnings.mock.calls.length >= 2)
  expect(String(warnings.mock.calls[0]?.[0])).toContain('disk full')
  warnings.mockRestore()
})

test('the log names events by their ids, and never a secret, a signature or a body', async () => {
  const db = await freshDatabase()
  const written: string[] = []
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    written.push(String(chunk))
    return true
  })
  try {
    const hooks = testHooks(db, {
      logger: jsonLogger('info'),
      retry: { baseDelayMs: 1, maxDelayMs: 1, maxAttempts: 2 },
    })
    hooks.on('test', '*', (event) => {
      if (event.type === 'bad') throw new Error('the shop is closed')
    })
    await hooks.start()
    const card = '4242-4242-4242-4242'
    for (const type of ['good', 'bad']) await deliver(hooks, { id: `evt_${type}`, type, card })
    await deliver(hooks, { id: 'evt_good', type: 'good', card, changed: true })
    const forged = signed({ id: 'evt_forged', type: 'good', card })
    await hooks.fetch(
      new Request('http://app.test/in/test', { ...forged, headers: { 'test-signature': 'ab'.repeat(32) } }),
    )
    await hooks.fetch(new Request('http://app.test/in/test', { ...signed(`not json ${card}`) }))
    await until('all is told', () =>
      ['"processed"', '"failed"', 'refused'].every((word) => written.join('').includes(word)),
    )
    await hooks.stop()

    const log = written.join('')
    const signature = Object.values(signed({ id: 'evt_good', type: 'good', card }).headers).join()
    for (const never of [SENDER.secret, card, signature, 'ab'.repeat(32)]) expect(log).not.toContain(never)
    const lines = written.map((line) => JSON.parse(line) as Record<string, unknown>)
    const failed = lines.find((line) => line.status === 'failed')
    expect(failed).toMatchObject({
      level: 'error',
      source: 'test',
      event_key: 'evt_bad',
      event_type: 'bad',
      job: '*',
      attempt: 2,
      error: 'Error: the shop is closed',
    })
    expect(failed?.stack).toContainEqual(expect.stringContaining('process-observe.test.ts'))
    expect(failed?.receipt_id).toMatch(/^[0-9a-f-]{36}$/)
  } finally {
    stderr.mockRestore()
  }
})
