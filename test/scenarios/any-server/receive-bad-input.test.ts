import { createServer } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { coinbaseCdp, hook0 } from '../../../src/sources/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { rawConnection } from '../../support/raw-http.ts'
import { receiving, silent } from '../../support/receiver.ts'
import { signed, testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/*
 * Anyone can send anything. Unsigned input must not be stored, crash the process, or fill the
 * ledger.
 */

const receipts = (db: TestDatabase): Promise<number> => db.number('select count(*) from hookonce.receipt')
const rejections = (db: TestDatabase): Promise<unknown[]> =>
  db.rows('select source, code, count::int from hookonce.rejection order by source, code')
const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n\r\n`
const GOOD = { id: 'evt_good', type: 'a' }

test('a body announced over the limit is refused before any of it is sent', async () => {
  const db = await freshDatabase()
  const { listen, stop } = receiving(db, { options: { limits: { maxBodyBytes: 1_000 } } })
  const client = await rawConnection(await listen())
  client.write(lines('POST /in/test HTTP/1.1', 'host: x', 'content-length: 1001'))
  expect(await client.closed()).toMatch(/^HTTP\/1.1 413 .*"BODY_TOO_LARGE"/s)
  await stop()
  expect(await receipts(db)).toBe(0)
  expect(await rejections(db)).toEqual([{ source: 'test', code: 'BODY_TOO_LARGE', count: 1 }])
})

test('an endless chunked body is read no further than the limit', async () => {
  const db = await freshDatabase()
  const { listen, stop } = receiving(db, { options: { limits: { maxBodyBytes: 100_000 } } })
  const client = await rawConnection(await listen())
  client.write(lines('POST /in/test HTTP/1.1', 'host: x', 'transfer-encoding: chunked'))
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  let flooding = true
  const answer = client.closed().finally(() => {
    flooding = false
  })
  // Sends as fast as the server reads, until the server closes the connection.
  while (flooding) {
    if (!client.socket.write(chunk))
      await Promise.race([new Promise((done) => client.socket.once('drain', done)), answer])
    await turn()
  }
  expect(await answer).toMatch(/^HTTP\/1.1 413 .*connection: close.*"BODY_TOO_LARGE"/is)
  // At most the limit plus the buffers of the kernel on both sides, not the amount that a sender
  // wants to send.
  expect(client.socket.bytesWritten).toBeLessThan(16 * 1024 * 1024)
  await stop()
  expect(await receipts(db)).toBe(0)
  expect(await rejections(db)).toEqual([{ source: 'test', code: 'BODY_TOO_LARGE', count: 1 }])
})

test('a truncated request leaves nothing', async () => {
  const db = await freshDatabase()
  const { hooks, listen, stop } = receiving(db)
  const client = await rawConnection(await listen())
  client.write(lines('POST /in/test HTTP/1.1', 'host: x', 'content-length: 100'))
  client.write('{"id":"evt')
  await until('it is being read', () => hooks.ledger('test'))
  client.socket.end()
  client.socket.destroy()
  await until('it is noticed', async () => (await hooks.metrics()).includes('reason="BODY_INCOMPLETE"} 1'))
  await stop()
  expect(await receipts(db)).toBe(0)
  expect(await rejections(db)).toEqual([{ source: 'test', code: 'BODY_INCOMPLETE', count: 1 }])
})

test('a body that stalls is answered 408, and its bytes are released', async () => {
  const db = await freshDatabase()
  const { listen, send, stop } = receiving(db, {
    options: { limits: { bodyTimeoutMs: 200, maxHeldBytes: 1_000 } },
  })
  const url = await listen()
  for (const length of ['transfer-encoding: chunked', 'content-length: 2000']) {
    const client = await rawConnection(url)
    client.write(lines('POST /in/test HTTP/1.1', 'host: x', length))
    client.write(length.startsWith('t') ? `384\r\n${'x'.repeat(900)}\r\n` : 'x'.repeat(900))
    const answer = await client.closed()
    // An announced body that would not fit is refused at once. The other body is read until its
    // deadline.
    if (length.startsWith('t')) expect(answer).toMatch(/^HTTP\/1.1 408 .*connection: close.*"BODY_STALLED"/is)
    else expect(answer).toMatch(/^HTTP\/1.1 503 .*"OVERLOADED"/s)
  }
  // If the 900 bytes were still held, this would be refused.
  expect((await send({ ...GOOD, padding: 'x'.repeat(500) })).status).toBe(202)
  await stop()
  expect(await receipts(db)).toBe(1)
})

test('a body that was read before hookonce is refused at once, with the reason', async () => {
  const db = await freshDatabase()
  const { hooks, post, stop } = receiving(db)
  const request = new Request('http://localhost/in/test', signed(GOOD))
  await request.text()
  expect((await hooks.fetch(request)).status).toBe(500)

  const receive = hooks.node()
  const server = createServer((incoming, response) => {
    // Like a body parser that runs before hookonce.
    incoming.resume().on('end', () => void receive(incoming, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const answer = await fetch(`http://127.0.0.1:${port}/in/test`, signed(GOOD))
  server.close()
  expect(answer.status).toBe(500)
  expect(await answer.json()).toEqual({ error: 'BODY_ALREADY_READ' })
  expect((await post(signed(GOOD))).status).toBe(202)
  await stop()
  expect(await db.rows('select count::int, last_detail from hookonce.rejection')).toEqual([
    { count: 2, last_detail: expect.stringContaining('request.rawBody = bytes') },
  ])
})

test('invalid UTF-8 with a valid signature is answered 400, and nothing is stored', async () => {
  const db = await freshDatabase()
  const { post, stop } = receiving(db)
  const body = Buffer.concat([
    Buffer.from('{"id":"evt_'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('","type":"a"}'),
  ])
  const answer = await post({ method: 'POST', body, headers: testSource().sign({ body }) })
  expect(answer.status).toBe(400)
  await stop()
  expect(await receipts(db)).toBe(0)
  expect(await rejections(db)).toEqual([{ source: 'test', code: 'BODY_UNPARSABLE', count: 1 }])
})

test.each([
  ['NUL', '{"id":"evt_\\u0000","type":"a\\u0000b","text":"\\u0000"}'],
  ['half a surrogate pair', '{"id":"evt_\\ud800","type":"\\udfff"}'],
  ['everything that is hard to quote', JSON.stringify({ id: `'"\\{},NULL\n\t🪝`, type: '%s; drop table' })],
])('%s in id, type and body is stored, and recognised in a repeat', async (_name, body) => {
  const db = await freshDatabase()
  const ran: unknown[] = []
  const { hooks, send } = receiving(db, { handler: (event) => ran.push(event.payload) })
  await hooks.start()
  expect((await send(body)).status).toBe(202)
  expect((await send(body)).status).toBe(200)
  await until('it is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  const [row] = await db.rows<{ body: Buffer }>('select body from hookonce.receipt')
  expect(String(row?.body)).toBe(body)
  expect(ran).toEqual([JSON.parse(body)])
})

test('ids that differ only in characters that a database cannot hold are different events', async () => {
  const db = await freshDatabase()
  const { send } = receiving(db)
  for (const id of ['x\\ud800', 'x\\ud801', 'x\\u0000', 'x\\ufffd']) {
    expect((await send(`{"id":"${id}","type":"a"}`)).status).toBe(202)
  }
  expect(await receipts(db)).toBe(4)
})

test('a flood of headers is refused by the server itself, and the next delivery is accepted', async () => {
  const db = await freshDatabase()
  const { listen, send } = receiving(db)
  const client = await rawConnection(await listen())
  const flood = Array.from({ length: 500 }, (_, n) => `x-${n}: ${'y'.repeat(200)}`)
  client.write(lines('POST /in/test HTTP/1.1', 'host: x', ...flood))
  expect(await client.closed()).toMatch(/^HTTP\/1.1 431 /)
  expect((await send(GOOD)).status).toBe(202)
  expect(await receipts(db)).toBe(1)
})

test('5,000 different requests from strangers leave as many rows as there are reasons', async () => {
  const db = await freshDatabase()
  const { hooks, post, stop } = receiving(db)
  await hooks.ledger('test')
  const count = async (): Promise<number> => {
    const tables = await db.rows<{ name: string }>(
      `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'hookonce'
         and table_name <> 'rollup'`,
    )
    const counts = await Promise.all(
      tables.map(({ name }) => db.number(`select count(*) from hookonce.${name}`)),
    )
    return counts.reduce((sum, rows) => sum + rows, 0)
  }
  const before = await count()
  for (let n = 0; n < 5_000; n += 100) {
    await Promise.all(
      Array.from({ length: 100 }, (_, m) => {
        const id = `evt_${n + m}`
        const headers = [
          {},
          { 'test-signature': `${n + m}` },
          { 'test-signature': String(n + m).padStart(64, '0') },
        ][m % 3]
        return post(
          {
            method: 'POST',
            body: JSON.stringify({ id, type: id }),
            headers: { ...headers, [`x-${id}`]: id },
          },
          m % 10 === 0 ? `/in/${id}` : '/in/test',
        )
      }),
    )
  }
  await stop()
  expect((await count()) - before).toBe(4)
  // Statistics have one name for all unknown sources.
  expect(await db.rows('select distinct source from hookonce.rollup order by source')).toHaveLength(2)
  expect(
    await db.rows(
      'select source, code, sum(count)::int as count from hookonce.rejection group by 1, 2 order by 1, 2',
    ),
  ).toEqual([
    { source: '(unknown)', code: 'SOURCE_UNKNOWN', count: 500 },
    { source: 'test', code: 'SIGNATURE_MALFORMED', count: 1_500 },
    { source: 'test', code: 'SIGNATURE_MISMATCH', count: 1_500 },
    { source: 'test', code: 'SIGNATURE_MISSING', count: 1_500 },
  ])
})

test('a path that cannot be decoded names no source', async () => {
  const db = await freshDatabase()
  const { post, stop } = receiving(db)
  expect((await post(signed(GOOD), '/in/%E0%A4%A')).status).toBe(404)
  expect((await post(signed(GOOD), '/in/__proto__')).status).toBe(404)
  expect((await post(signed(GOOD), '/in/')).status).toBe(404)
  await stop()
  expect(await rejections(db)).toEqual([{ source: '(unknown)', code: 'SOURCE_UNKNOWN', count: 3 }])
})

test('a header that lists signed headers by odd names is refused, by node:http and by fetch', async () => {
  const db = await freshDatabase()
  const troubles: unknown[] = []
  const logger = { ...silent, error: (...line: unknown[]) => void troubles.push(line) }
  const sources = { hook0: hook0({ secret: 's' }), coinbase: coinbaseCdp({ secret: 's' }) }
  const { listen, post, stop } = receiving(db, { sources, options: { logger } })
  const url = await listen()
  const names = ['constructor', '__proto__', 'toString', '', ' ', 'a b', 'x:y']
  for (const name of names) {
    const headers = { 'x-hook0-signature': `t=1,h=${name},v1=${'0'.repeat(64)}` }
    for (const path of ['/in/hook0', '/in/coinbase']) {
      const init = { method: 'POST', body: '{}', headers }
      expect((await fetch(`${url}${path}`, init)).status).toBe(401)
      expect((await post(init, path)).status).toBe(401)
    }
  }
  await stop()
  expect(troubles).toEqual([])
  expect(await rejections(db)).toEqual(
    ['coinbase', 'hook0'].map((source) => ({ source, code: 'SIGNATURE_MISSING', count: 2 * names.length })),
  )
})

test('a content-length that a framework has joined from two equal ones is not refused', async () => {
  const db = await freshDatabase()
  const { post } = receiving(db)
  const { headers, ...rest } = signed(GOOD)
  const joined = new Headers(headers)
  joined.set('content-length', '24, 24')
  expect((await post({ ...rest, headers: joined })).status).toBe(202)
  expect(await receipts(db)).toBe(1)
})
