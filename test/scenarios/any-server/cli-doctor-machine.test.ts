import { chmodSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Finding } from '../../../src/operate/doctor/diagnose.ts'
import { cli, startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { listening } from '../../support/listening-server.ts'

/*
 * The findings of the doctor about this machine. The findings about the database have their own
 * tests (own-server).
 */

async function examine(args: readonly string[], env: Record<string, string> = {}) {
  const ran = await cli(['doctor', '--json', '--dir', temporaryDirectory(), ...args], env)
  const findings = ran.json<Finding[]>()
  return { ran, findings, of: (check: string) => findings.filter((finding) => finding.check === check) }
}

const NO_PORTS = ['--port', '0', '--admin-port', '0']

function configFile(config: object): string {
  const file = join(temporaryDirectory(), 'hookonce.config.json')
  writeFileSync(file, JSON.stringify(config))
  return file
}

const withSecret = (secret: string) => ({
  sources: { stripe: { provider: 'stripe', secret, unwanted: 'record' } },
})

describe('ports', () => {
  test('that other programs have are named, with their process', async () => {
    const port = Number(new URL(await listening(createServer((_, response) => response.end('mine')))).port)
    const silent = createTcpServer()
    const other = await new Promise<number>((resolve) => {
      silent.listen(0, '127.0.0.1', () => {
        const address = silent.address()
        resolve(typeof address === 'object' && address ? address.port : 0)
      })
    })
    onTestFinished(() => void silent.close())
    const { ran, of } = await examine(['--port', String(port), '--admin-port', String(other)])
    for (const taken of [port, other])
      expect(of(`port ${taken}`)).toMatchObject([
        { level: 'warn', seen: expect.stringMatching(new RegExp(`^taken by .+, pid ${process.pid}$`)) },
      ])
    // Another port can be chosen, so this is a warning, not a failure.
    expect(ran.code).toBe(0)
  })

  test('on which hookonce listens are as they should be, and its embedded ledger is sound', async () => {
    const dir = temporaryDirectory()
    const [port, adminPort] = [await freePort(), await freePort()]
    const ports = ['--port', String(port), '--admin-port', String(adminPort)]
    const dev = startCli(['dev', '--json', '--dir', dir, ...ports])
    await dev.line('ready')
    const ran = await cli(['doctor', '--json', '--dir', dir, ...ports])
    const findings = ran.json<Finding[]>()
    for (const one of [port, adminPort])
      expect(findings).toContainEqual({
        check: `port ${one}`,
        level: 'ok',
        seen: expect.stringMatching(new RegExp(`^hookonce listens here.*${dev.child.pid}`)),
      })
    expect(findings.filter(({ level }) => level === 'fail')).toEqual([])
    expect(findings.find(({ check }) => check === 'lag')?.seen).toBe('no job waits; 1 worker runs')
    expect(findings.find(({ check }) => check === 'folder')).toMatchObject({
      level: 'warn',
      seen: expect.stringContaining('is in the temporary folder'),
    })
    expect(findings.find(({ check }) => check === 'disk')?.seen).toMatch(/% ?\) are free under /)
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    expect(await dev.stop()).toBe(0)
  })
})

describe('the configuration', () => {
  test('with faults fails, with their places', async () => {
    const file = configFile({ sources: { stripe: { provider: 'strpe', secret: 'env:S' } }, potr: 1 })
    const { ran, of } = await examine([...NO_PORTS, '--config', file], { S: 'whsec_long_enough_for_a_test' })
    expect(ran.code).toBe(1)
    expect(of('config')).toMatchObject([{ level: 'fail', seen: expect.stringContaining('potr') }])
  })

  test.each([
    { secret: 'env:NOT_SET', level: 'fail', seen: 'NOT_SET is empty or not set' },
    { secret: 'file:/not/there', level: 'fail', seen: '/not/there cannot be read' },
    { secret: 'env:S', text: 'whsec_change_me_please', level: 'fail', seen: 'is a placeholder' },
    { secret: 'env:S', text: 'xxxxxxxxxxxxxxxxxxxxxxxx', level: 'fail', seen: 'is a placeholder' },
    { secret: 'env:S', text: 'kd83hs', level: 'warn', seen: 'has only 6 characters' },
    { secret: 'env:S', text: 'whsec_Zk3rT9pLw2QmX8vB', level: 'ok', seen: '1 is set' },
  ])('with the secret $secret is reported as $level: $seen', async ({ secret, text, level, seen }) => {
    const file = configFile(withSecret(secret))
    const { ran, of } = await examine([...NO_PORTS, '--config', file], text === undefined ? {} : { S: text })
    expect(of('secrets')).toMatchObject([{ level, seen: expect.stringContaining(seen) }])
    if (text !== undefined) expect(ran.stdout + ran.stderr).not.toContain(text)
  })

  test('with a secret in a world-readable file causes a warning', async () => {
    const secret = join(temporaryDirectory(), 'secret')
    writeFileSync(secret, 'whsec_Zk3rT9pLw2QmX8vB\n')
    chmodSync(secret, 0o644)
    const args = [...NO_PORTS, '--config', configFile(withSecret(`file:${secret}`))]
    expect((await examine(args)).of('secrets')).toMatchObject([
      { level: 'warn', advice: expect.stringContaining('chmod') },
    ])
    chmodSync(secret, 0o600)
    expect((await examine(args)).of('secrets')).toMatchObject([{ level: 'ok' }])
  })

  test('of the environment is checked without a file', async () => {
    const { of } = await examine(NO_PORTS, {
      STRIPE_WEBHOOK_SECRET: 'changeme',
      HOOKONCE_ENCRYPTION_KEY: ',',
    })
    expect(of('secrets')).toMatchObject([
      { level: 'fail', seen: 'STRIPE_WEBHOOK_SECRET is a placeholder' },
      { level: 'fail', seen: expect.stringContaining('HOOKONCE_ENCRYPTION_KEY holds an empty key') },
    ])
  })
})

describe('a database', () => {
  test('that is unreachable fails, with advice', async () => {
    const url = `postgres://anna:s3cret-word@127.0.0.1:${await freePort()}/app`
    const { ran, of } = await examine(NO_PORTS, { DATABASE_URL: url })
    expect(ran).toMatchObject({ code: 1, stderr: '' })
    expect(of('database')).toMatchObject([
      {
        level: 'fail',
        seen: expect.stringContaining('ECONNREFUSED'),
        advice: expect.stringContaining('start the server'),
      },
    ])
    expect(ran.stdout).not.toContain('s3cret-word')
  })

  test('that accepts connections and never answers does not block the doctor', async () => {
    const server = createTcpServer()
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        const address = server.address()
        resolve(typeof address === 'object' && address ? address.port : 0)
      })
    })
    onTestFinished(() => void server.close())
    const { ran, of } = await examine(NO_PORTS, { DATABASE_URL: `postgres://anna@127.0.0.1:${port}/app` })
    expect(ran.code).toBe(1)
    expect(of('database')).toMatchObject([{ level: 'fail', seen: expect.stringContaining('cannot connect') }])
  })

  test('that does not exist yet is not a failure, and none is created', async () => {
    const { ran, of } = await examine(NO_PORTS)
    expect(ran.code).toBe(0)
    expect(of('database')).toMatchObject([{ level: 'warn', advice: expect.stringContaining('hookonce dev') }])
  })

  test('whose URL is wrong fails with the expected form', async () => {
    const { ran, of } = await examine(NO_PORTS, { DATABASE_URL: 'mysql://localhost/x' })
    expect(ran.code).toBe(1)
    expect(of('database')).toMatchObject([{ level: 'fail', seen: expect.stringContaining('postgres://') }])
  })
})

test('an encryption key that cannot open the data keys of the ledger fails', async () => {
  const db = await freshDatabase()
  const [first, other] = ['a', 'b'].map((letter) => Buffer.alloc(32, letter).toString('base64'))
  const hooks = testHooks(db, { encryption: { key: first ?? '' } }).on('test', '*', () => undefined)
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  const encryption = async (key: string | undefined) => {
    const env = { DATABASE_URL: db.url, ...(key === undefined ? {} : { HOOKONCE_ENCRYPTION_KEY: key }) }
    const { ran, of } = await examine(NO_PORTS, env)
    expect(ran.stdout).not.toContain(first)
    return of('encryption')
  }
  expect(await encryption(first)).toMatchObject([{ level: 'ok', seen: expect.stringContaining('open all') }])
  for (const key of [other, undefined])
    expect(await encryption(key)).toMatchObject([
      { level: 'fail', seen: expect.stringContaining('not configured here') },
    ])
  const { of } = await examine(NO_PORTS, { DATABASE_URL: db.url, HOOKONCE_ENCRYPTION_KEY: 'short' })
  expect(of('secrets')).toMatchObject([{ level: 'fail', seen: expect.stringContaining('is not 32 bytes') }])
})

test('for a person, each check is a line, with the advice below it', async () => {
  const { code, stdout } = await cli(['doctor', '--dir', temporaryDirectory(), ...NO_PORTS])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ok {4}node {6}Node\.js \d+/m)
  expect(stdout).toMatch(/^warn {2}database {2}there is no ledger in .+\n +→ start `hookonce dev` here/m)
  expect(stdout).toMatch(/\n\n5 ok, 1 warning, 0 failures\n$/)
  expect(stdout).not.toContain('\x1b')
})
