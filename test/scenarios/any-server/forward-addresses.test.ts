import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import type { Resolve } from '../../../src/http/guarded-lookup.ts'
import { cli, startCli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { destination, forwarding, inState, jobs } from '../../support/forwarding.ts'
import { configFile, configTo, deliver, ENV, serveArgs } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { signed } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/* The addresses that a gateway reaches: public addresses, and others only if allowed. */

/** Counts connections, independent of their content. */
async function trap(): Promise<{ port: string; connections: () => number }> {
  let connections = 0
  const server = createServer((_request, response) => response.end())
  server.on('connection', () => {
    connections += 1
  })
  return { port: new URL(await listening(server)).port, connections: () => connections }
}

const named =
  (...answers: string[][]): Resolve =>
  async () => {
    const addresses = answers.length > 1 ? answers.shift() : answers[0]
    return (addresses ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }

test.each([
  ['127.0.0.1', 'loopback'],
  ['::1', 'loopback'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['64:ff9b::7f00:1', 'loopback'],
  ['10.0.0.1', 'private'],
  ['169.254.169.254', 'metadata'],
  ['0.0.0.0', 'reserved'],
])('a name that resolves to %s is refused, without a connection', async (address, kind) => {
  const db = await freshDatabase()
  const { port, connections } = await trap()
  const { post } = await forwarding(db, `http://app.example:${port}/`, {
    allowPrivate: [],
    resolve: named([address]),
    retry: { maxAttempts: 1 },
  })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'failed')
  const reason = String((await jobs(db))[0]?.reason)
  expect(reason).toContain('ADDRESS_REFUSED: app.example resolves to')
  expect(reason).toContain(`a ${kind} address; to allow it, add "allowPrivate"`)
  expect(connections()).toBe(0)
})

test('DNS rebinding: the address of each connection is checked, and no other is used', async () => {
  const db = await freshDatabase()
  // The second request then needs a new connection.
  const { url, got } = await destination({ status: 200, headers: { connection: 'close' } })
  const { port } = new URL(url)
  // The first lookup returns a permitted address, the later ones an internal address.
  const resolve = named(['127.0.0.1'], ['127.0.0.2'])
  const { post } = await forwarding(db, `http://rebinding.example:${port}/`, {
    allowPrivate: ['127.0.0.1'],
    resolve,
    retry: { maxAttempts: 1 },
  })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'processed')
  expect(got).toHaveLength(1)
  await post(signed({ id: 'evt_2', type: 'a' }))
  await inState(db, 'failed')
  const [job] = await db.rows<{ reason: string }>(`select reason from hookonce.job where state = 'failed'`)
  expect(job?.reason).toContain('rebinding.example resolves to 127.0.0.2')
  expect(got).toHaveLength(1)
})

test('of several addresses only the permitted ones are tried', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const { port } = new URL(url)
  const { post } = await forwarding(db, `http://app.example:${port}/`, {
    allowPrivate: ['127.0.0.1'],
    resolve: named(['::1', '10.255.255.1', '127.0.0.1']),
  })
  await post(signed({ id: 'evt_1', type: 'a' }))
  await inState(db, 'processed')
  expect(got).toHaveLength(1)
})

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['[::1]', '::1'],
  ['[::ffff:7f00:1]', '::ffff:7f00:1'],
  ['2130706433', '127.0.0.1'],
  ['0x7f.1', '127.0.0.1'],
  ['localhost', 'localhost'],
  ['app.localhost', 'app.localhost'],
  ['169.254.169.254', '169.254.169.254'],
])('serve refuses a destination at %s, and names the option that allows it', async (host, entry) => {
  const config = configTo(`http://${host}:1/`) as { destinations: { app: Record<string, unknown> } }
  delete config.destinations.app.allowPrivate
  const ran = await cli(serveArgs(configFile(config)), {
    ...ENV,
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
  })
  expect(ran.code).toBe(1)
  expect(ran.stderr).toMatch(/^CONFIG_INVALID: .*:\d+:\d+: destinations\.app\.url: /)
  expect(ran.stderr).toContain(`add "allowPrivate": ["${entry}"] to destinations.app`)
})

test('dev forwards to this machine without an option', async () => {
  const db = await freshDatabase()
  const { url, got } = await destination()
  const config = configTo(url.replace('127.0.0.1', 'localhost')) as {
    destinations: { app: Record<string, unknown> }
  }
  delete config.destinations.app.allowPrivate
  const args = ['dev', '--json', '--port', '0', '--config', configFile(config), '--forward-to', url]
  const { line } = startCli(args, { ...ENV, DATABASE_URL: db.url })
  const { port } = await line<{ port: number }>('ready')
  expect(await deliver(port, 'evt_1')).toBe(202)
  await until('both destinations have it', () => got.length === 2)
})
