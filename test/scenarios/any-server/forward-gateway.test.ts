import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import express from 'express'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { startCli, startProgram, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { NEEDS_PYTHON } from '../../support/declared-skips.ts'
import { inState } from '../../support/forwarding.ts'
import { configFile, deliver, ENV, FORWARD_SECRET, serveArgs } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { tcpDestination } from '../../support/tcp-destination.ts'
import { until } from '../../support/until.ts'

/* The gateway as a separate process, in front of apps that do not use hookonce. */

const SCRIPT = fileURLToPath(new URL('../../support/python-destination.py', import.meta.url))
const TRANSFORM = fileURLToPath(new URL('../../../examples/transform.mjs', import.meta.url))

async function gateway(
  db: TestDatabase,
  destinations: Record<string, object>,
  more: Record<string, string> = {},
): Promise<number> {
  const common = { secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] }
  const config = {
    sources: { stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' } },
    destinations: Object.fromEntries(
      Object.entries(destinations).map(([name, own]) => [name, { ...common, ...own }]),
    ),
  }
  const env = { ...ENV, APP_TOKEN: 'a-token', DATABASE_URL: db.url, ...more }
  const { line } = startCli(serveArgs(configFile(config)), env)
  return (await line<{ port: number }>('port')).port
}

async function expressApp() {
  const got: { body: unknown; authorization: string | undefined }[] = []
  const app = express()
  app.post('/hooks', express.raw({ type: '*/*' }), (request, response) => {
    const { authorization } = request.headers
    const body = new Webhook(FORWARD_SECRET).verify(
      String(request.body),
      request.headers as Record<string, string>,
    )
    got.push({ body, authorization })
    response.json({ ok: true })
  })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `${await listening(server)}/hooks`, got }
}

test('an Express app verifies the authenticated and transformed requests', async () => {
  const db = await freshDatabase()
  const { url, got } = await expressApp()
  const auth = { type: 'bearer', token: 'env:APP_TOKEN' }
  const port = await gateway(db, { app: { url, auth, transform: TRANSFORM } })
  expect(await deliver(port, 'evt_1')).toBe(202)
  await inState(db, 'processed')
  expect(got).toEqual([{ body: { id: 'evt_1', type: 'invoice.paid' }, authorization: 'Bearer a-token' }])
})

test('a Python app verifies its requests, and fails each first attempt', async (context) => {
  if (spawnSync('python3', ['--version']).status !== 0) return context.skip(NEEDS_PYTHON)
  const db = await freshDatabase()
  const python = startProgram('python3', [SCRIPT], { env: { FORWARD_SECRET } })
  const { port: pythonPort } = await python.line<{ port: number }>('port')
  const retry = { scheduleMs: [10] }
  const port = await gateway(db, { app: { url: `http://127.0.0.1:${pythonPort}/`, retry } })
  for (const id of ['evt_1', 'evt_2']) expect(await deliver(port, id)).toBe(202)
  await inState(db, 'processed', 2)
  const lines = (): string[] => python.output.stdout.split('\n').slice(0, -1)
  const printed = await until('all that it got is printed', () => {
    const found = lines().filter((line) => line.includes('"id"'))
    return found.length >= 4 ? found : undefined
  })
  const got = printed.map(
    (line) => JSON.parse(line) as { id: string; signed: boolean; attempt: number; body: string },
  )
  expect(got).toHaveLength(4)
  expect(got.every(({ signed }) => signed)).toBe(true)
  for (const key of ['evt_1', 'evt_2']) {
    const attempts = got.filter(({ body }) => body.includes(key))
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(new Set(attempts.map(({ id }) => id)).size).toBe(1)
  }
})

test('https: the certificate must be trusted, and match the name', async () => {
  const dir = temporaryDirectory()
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const files = ['-keyout', 'key.pem', '-out', 'cert.pem', '-days', '2']
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...names]
  execFileSync('openssl', args, { cwd: dir, stdio: 'ignore' })
  const [key, cert] = ['key.pem', 'cert.pem'].map((file) => readFileSync(join(dir, file)))
  const server = createServer({ key, cert }, (request, response) =>
    request.resume().on('end', () => response.end()),
  )
  const { port: appPort } = new URL(await listening(server))
  const reason = async (): Promise<string> =>
    (await db.rows<{ reason: string }>('select reason from hookonce.job'))[0]?.reason ?? ''
  const retry = { scheduleMs: [10], maxAttempts: 1_000 }
  const own = (host: string) => ({ url: `https://${host}:${appPort}/`, allowPrivate: [host], retry })

  const db = await freshDatabase()
  const first = await gateway(db, { app: own('localhost') })
  expect(await deliver(first, 'evt_1')).toBe(202)
  await until('the certificate is refused', async () => (await reason()).includes('self-signed certificate'))
  const trusting = { NODE_EXTRA_CA_CERTS: join(dir, 'cert.pem') }
  await gateway(db, { app: own('127.0.0.1') }, trusting)
  await until('the name does not fit', async () =>
    (await reason()).includes("does not match certificate's altnames"),
  )
  await gateway(db, { app: own('localhost') }, trusting)
  await inState(db, 'processed')
})

test('over plain TCP, a request has one length and the bytes that were delivered', async () => {
  const db = await freshDatabase()
  let request = ''
  const { url } = await tcpDestination((socket, head) => {
    request = head
    socket.end('HTTP/1.0 200 OK\r\n\r\n')
  })
  const port = await gateway(db, { app: { url } })
  expect(await deliver(port, 'evt_1')).toBe(202)
  await inState(db, 'processed')
  const [head = '', body] = request.split('\r\n\r\n')
  expect(head).toMatch(/^POST \/ HTTP\/1\.1\r\n/)
  expect(head.match(/^content-length: (\d+)$/gim)).toEqual([`content-length: ${body?.length}`])
  expect(head).not.toMatch(/^transfer-encoding:/im)
  expect(body).toBe('{"id":"evt_1","type":"invoice.paid"}')
})

test('destinations that hang, reset or flood do not keep events from another one', async () => {
  const db = await freshDatabase()
  const { url, got } = await expressApp()
  const hanging = await tcpDestination(() => undefined)
  const resetting = await tcpDestination((socket) => socket.resetAndDestroy())
  const flooding = await tcpDestination((socket) => {
    socket.write('HTTP/1.1 500 No\r\n\r\n')
    const more = setInterval(() => socket.write(Buffer.alloc(65_536)), 1)
    socket.on('close', () => clearInterval(more))
  })
  const bad = { concurrency: 2, retry: { scheduleMs: [600_000] } }
  const port = await gateway(db, {
    hanging: { url: hanging.url, ...bad, timeoutMs: 300 },
    resetting: { url: resetting.url, ...bad },
    flooding: { url: flooding.url, ...bad },
    app: { url },
  })
  const ids = Array.from({ length: 10 }, (_, n) => `evt_${n}`)
  expect(await Promise.all(ids.map((id) => deliver(port, id)))).toEqual(ids.map(() => 202))
  await until('the app has everything', () => got.length === ids.length)
  await inState(db, 'retrying', 30)
  const reasons = await db.rows<{ name: string; reasons: string[] }>(
    `select s.name, array_agg(distinct left(split_part(j.reason, '/ ', 2), 12)) as reasons from hookonce.job j
     join hookonce.subscriber s on s.id = j.subscriber where j.state = 'retrying' group by 1 order by 1`,
  )
  expect(reasons).toMatchObject([
    { name: 'flooding', reasons: ['answered 500'] },
    { name: 'hanging', reasons: ['did not answ'] },
    { name: 'resetting', reasons: ['could not be'] },
  ])
  expect(await db.number(`select count(*) from hookonce.job where state = 'processed'`)).toBe(10)
})
