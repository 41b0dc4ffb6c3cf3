import { createServer, type IncomingHttpHeaders } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { startExample } from '../../support/example.ts'
import { listening } from '../../support/listening-server.ts'
import { until } from '../../support/until.ts'

test('the example of the README sends one receipt for an invoice that Stripe reports three times', async () => {
  const db = await freshDatabase()
  const example = await startExample('invoices.mjs', db)
  const statuses = [
    await example.deliver('in_123'),
    await example.deliver('in_123'),
    await example.deliver('in_123'),
  ]
  expect(statuses).toEqual([202, 200, 200])
  await until('the receipt is sent', () => example.printed().includes('in_123'))
  await example.stop()
  expect(example.printed().match(/receipt for in_123/g)).toHaveLength(1)
  expect(await db.rows('select state::text, attempt from hookonce.job')).toEqual([
    { state: 'processed', attempt: 1 },
  ])
  expect(await db.rows('select invoice from payments')).toEqual([{ invoice: 'in_123' }])
  expect(await db.rows('select count from hookonce.duplicate')).toEqual([{ count: 2 }])
})

test('the example that crashes is finished by the next process, once', async () => {
  const db = await freshDatabase()
  const crashing = await startExample('crash.mjs', db, { CRASH: '1' })
  expect(await crashing.deliver('in_123')).toBe(202)
  await crashing.gone
  expect(await db.rows('select invoice from payments')).toEqual([])
  const next = await startExample('crash.mjs', db)
  await until('it is processed', async () => {
    return (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === 1
  })
  await next.stop()
  expect(crashing.printed()).toContain('attempt 1 for in_123')
  expect(next.printed()).toContain('attempt 2 for in_123')
  expect(await db.rows('select invoice from payments')).toEqual([{ invoice: 'in_123' }])
})

test('the example of the outbox notifies shipping once of an invoice that Stripe reports twice', async () => {
  const db = await freshDatabase()
  const secret = `whsec_${Buffer.from('the secret that shipping knows').toString('base64')}`
  const got: { headers: IncomingHttpHeaders; body: string }[] = []
  const shipping = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    got.push({ headers: request.headers, body })
    response.writeHead(204).end()
  })
  const url = `${await listening(shipping)}/messages`
  const example = await startExample('outbox.mjs', db, { SHIPPING_URL: url, SHIPPING_SECRET: secret })
  expect([await example.deliver('in_123'), await example.deliver('in_123')]).toEqual([202, 200])
  await until('both messages are published', async () => {
    return (await db.number(`select count(*) from hookonce.outbox where state = 'published'`)) === 2
  })
  await example.stop()
  expect(got).toHaveLength(1)
  const [message] = got
  expect(
    new Webhook(secret).verify(String(message?.body), message?.headers as Record<string, string>),
  ).toEqual({
    invoice: 'in_123',
  })
  expect(example.printed()).toMatch(/^audit [0-9a-f-]{36}: \{"invoice":"in_123","event":"evt_in_123"\}$/m)
  expect(await db.rows('select invoice from payments')).toEqual([{ invoice: 'in_123' }])
})

test('the example of traces prints the spans of one trace, and publishes with it', async () => {
  const db = await freshDatabase()
  const example = await startExample('tracing.mjs', db)
  expect(await example.deliver('in_123')).toBe(202)
  const [, traceId] = await until('the message is published', () =>
    /published with 00-([0-9a-f]{32})-/.exec(example.printed()),
  )
  const names = [
    'receive stripe',
    'process stripe',
    'hookonce.effect',
    'hookonce.transaction',
    'publish invoice.paid',
  ]
  // The two end in any order: the message may be published before its run has ended.
  for (const name of names)
    await until(`the span "${name}" is printed`, () => example.printed().includes(`name: '${name}'`))
  const traceIds = example.printed().match(/traceId: '[0-9a-f]+'/g)
  expect(new Set(traceIds)).toEqual(new Set([`traceId: '${traceId}'`]))
  await example.stop()
})
