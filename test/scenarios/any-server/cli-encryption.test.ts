import { expect, test } from 'vitest'
import { cli, startCli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { newKey } from '../../support/encryption.ts'
import { configFile, configTo, deliver, destination, ENV, serveArgs } from '../../support/gateway.ts'
import { jobsAre } from '../../support/jobs.ts'

const env = (db: TestDatabase, ...keys: string[]): Record<string, string> => ({
  DATABASE_URL: db.url,
  ...(keys.length > 0 && { HOOKONCE_ENCRYPTION_KEY: keys.join(',') }),
})

/** A gateway that has recorded and forwarded one event. Returns the receipt's id. */
async function serveOne(db: TestDatabase, config: object, more: Record<string, string>): Promise<string> {
  const gateway = startCli(serveArgs(configFile(config)), { ...ENV, ...env(db), ...more })
  const { port } = await gateway.line<{ port: number }>('port')
  expect(await deliver(port, 'evt_1')).toBe(202)
  await jobsAre(db, 'processed')
  expect(await gateway.stop()).toBe(0)
  for (const secret of Object.values(more)) expect(gateway.output.stderr).not.toContain(secret)
  const [row] = await db.rows<{ id: string; body: Buffer | null }>('select id, body from hookonce.receipt')
  expect(row?.body).toBeNull()
  return row?.id ?? ''
}

test('a gateway encrypts with HOOKONCE_ENCRYPTION_KEY, and the commands read, rotate and forget', async () => {
  const db = await freshDatabase()
  const app = await destination()
  const key = (await cli(['encryption', 'key'])).stdout.trim()
  const other = (await cli(['encryption', 'key', '--json'])).json<{ key: string }>()
  for (const made of [key, other.key]) expect(Buffer.from(made, 'base64')).toHaveLength(32)
  expect(other.key).not.toBe(key)
  const id = await serveOne(db, configTo(app.url), { HOOKONCE_ENCRYPTION_KEY: key })
  expect(app.bodies).toEqual(['{"id":"evt_1","type":"invoice.paid"}'])

  expect((await cli(['show', id], env(db, key))).stdout).toContain('{"id":"evt_1","type":"invoice.paid"}')
  const locked = await cli(['show', id, '--json'], env(db))
  expect(locked.json()).toMatchObject({
    body: null,
    eventKey: 'evt_1',
    unreadable: { code: 'ENCRYPTION_KEY_MISSING' },
  })
  expect((await cli(['show', id], env(db))).stdout).toContain(
    'the body cannot be read: ENCRYPTION_KEY_MISSING',
  )
  expect((await cli(['encryption'], env(db))).stdout).toContain(
    'locked: its key is not in HOOKONCE_ENCRYPTION_KEY',
  )

  const next = newKey()
  const rotated = await cli(['encryption', 'rotate', '--why', 'yearly'], env(db, next, key))
  expect(rotated.stdout).toMatch(/^2 data keys were rewrapped; the key [0-9a-f]{16} now wraps all of them\n$/)
  expect((await cli(['encryption', '--json'], env(db, next))).json()).toMatchObject([
    { tenant: 'default', purpose: 'payload', isOpen: true },
    { tenant: 'default', purpose: 'hash', isOpen: true },
  ])

  const unsure = await cli(['encryption', 'forget', '--tenant', 'default', '--why', 'left us'], env(db))
  expect([unsure.code, unsure.stderr]).toEqual([1, expect.stringContaining('confirm with --yes')])
  expect((await cli(['show', id, '--json'], env(db, next))).json()).toMatchObject({ unreadable: null })
  // `forget` needs no key.
  const forget = ['encryption', 'forget', '--tenant', 'default', '--why', 'left us', '--yes']
  expect((await cli(forget, env(db))).stdout).toContain('the data key of default is dropped')
  expect((await cli(['show', id], env(db, next))).stdout).toContain('PAYLOAD_FORGOTTEN')
  const replay = await cli(['replay', id], env(db, next))
  expect([replay.code, replay.stderr]).toEqual([1, expect.stringContaining('PAYLOAD_FORGOTTEN')])
  expect((await cli(['audit'], env(db))).stdout).toMatch(/forget-tenant[\s\S]*rotate-encryption/)
  expect((await cli(forget, env(db))).stderr).toContain('tenant "default" has no data key')
})

test('the key and the rules may be in the file of the gateway', async () => {
  const db = await freshDatabase()
  const app = await destination()
  const config = {
    ...configTo(app.url),
    sources: {
      stripe: {
        provider: 'stripe',
        secret: 'env:STRIPE_SECRET',
        redact: ['$.**.email', 'header:user-agent'],
      },
    },
    encryption: { key: ['env:PAYLOAD_KEY'] },
  }
  const key = newKey()
  const id = await serveOne(db, config, { PAYLOAD_KEY: key })
  const shown = await cli(['show', id, '--json'], env(db, key))
  expect(shown.json<{ headers: string }>().headers).toContain('user-agent: [redacted]')
})

test.each([
  ['an empty key', { HOOKONCE_ENCRYPTION_KEY: '' }, 'HOOKONCE_ENCRYPTION_KEY holds an empty key'],
  [
    'a key that is too short',
    { HOOKONCE_ENCRYPTION_KEY: 'c2hvcnQ=' },
    'key 1 is not 32 bytes in base64 or hex',
  ],
])('%s stops a gateway and every command', async (_, bad, message) => {
  const db = await freshDatabase()
  const config = configFile(configTo('http://127.0.0.1:9/'))
  for (const args of [serveArgs(config), ['events'], ['encryption']]) {
    const ran = await cli(args, { ...ENV, ...env(db), ...bad })
    expect([args[0], ran.code, ran.stderr]).toEqual([args[0], 1, expect.stringContaining(message)])
    expect(ran.stderr).not.toContain('c2hvcnQ')
  }
})

test('a mistyped command lists the accepted arguments', async () => {
  const cases: [string[], string][] = [
    [['encryption', 'drop'], 'unexpected argument "drop": give key, rotate or forget'],
    [['encryption', 'forget', '--why', 'x', '--yes'], 'give the tenant with --tenant'],
    [['encryption', 'forget', '--tenant', 'a', '--yes'], 'give the reason with --why'],
    [['encryption', 'rotate'], 'give the reason with --why'],
  ]
  for (const [args, message] of cases) expect((await cli(args)).stderr).toContain(message)
})
