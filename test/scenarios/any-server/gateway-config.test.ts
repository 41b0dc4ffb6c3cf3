import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { github, stripe } from '../../../src/sources/index.ts'
import { cli, MAIN, type RunningCli, startCli, startProgram, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { configFile, destination, ENV, FORWARD_SECRET, SECRET, serveArgs } from '../../support/gateway.ts'
import { type RawConnection, rawConnection } from '../../support/raw-http.ts'
import { until } from '../../support/until.ts'

/* The options of a configuration file, with `hookonce serve` as a process. */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const CODE_SECRET = 'the secret of github'
const ALL_ENV = { ...ENV, CODE_SECRET }

interface Ready {
  readonly port: number
  readonly adminPort: number
}

const yaml = (url: string): string => `
sources:
  stripe: { provider: stripe, secret: env:STRIPE_SECRET }
destinations:
  app: { url: "${url}", secret: env:FORWARD_SECRET, allowPrivate: ["127.0.0.1"] }
`

const module = (url: string): string => `{
  sources: { stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' } },
  destinations: { app: { url: '${url}', secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] } },
}`

const typed = (url: string): string => `
import { defineConfig, type ConfigInput } from 'hookonce/gateway'
interface Place { readonly url: string }
const place: Place = { url: '${url}' }
const sources: ConfigInput['sources'] = { stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' } }
export default defineConfig({ sources, destinations: { app: { url: place.url, secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] } } })
`

/** A project that has installed hookonce, with its configuration under this name. */
function project(name: string, text: string): string {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'node_modules'))
  symlinkSync(ROOT, join(dir, 'node_modules', 'hookonce'))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  writeFileSync(join(dir, name), text)
  return dir
}

function serveIn(dir: string, url: string): RunningCli {
  const args = [MAIN, 'serve', '--port', '0', '--host', '127.0.0.1']
  return startProgram(process.execPath, args, { cwd: dir, env: { ...ALL_ENV, DATABASE_URL: url } })
}

async function post(port: number, path: string, event: object): Promise<Response> {
  const body = JSON.stringify(event)
  const headers = stripe({ secret: SECRET }).sign({ body })
  return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body, headers })
}

test.each([
  ['hookonce.config.yaml', yaml],
  ['hookonce.config.yml', yaml],
  ['hookonce.config.json', (url: string) => JSON.stringify({ $schema: 'x', ...parsed(url) }, null, 2)],
  ['hookonce.config.mjs', (url: string) => `export default ${module(url)}`],
  ['hookonce.config.js', (url: string) => `export default ${module(url)}`],
  ['hookonce.config.ts', typed],
])('%s is found in the working directory, and a change takes effect', async (name, text) => {
  const db = await freshDatabase()
  const app = await destination()
  const dir = project(name, text(app.url))
  const gateway = serveIn(dir, db.url)
  const { port } = await gateway.line<Ready>('port')
  expect((await post(port, '/in/stripe', { id: 'evt_1', type: 'a' })).status).toBe(202)
  writeFileSync(join(dir, name), text(app.url).replace('stripe', 'money'))
  await until('it is reloaded', () => gateway.output.stderr.includes('the configuration was reloaded'))
  expect((await post(port, '/in/stripe', { id: 'evt_2', type: 'a' })).status).toBe(404)
  expect((await post(port, '/in/money', { id: 'evt_2', type: 'a' })).status).toBe(202)
  await until('both are forwarded', () => app.bodies.length === 2)
})

test('dev also reads the file, adds its own sources, and applies a change', async () => {
  const db = await freshDatabase()
  const app = await destination()
  const dir = project('hookonce.config.yaml', yaml(app.url))
  const args = [MAIN, 'dev', '--port', '0', '--json']
  const dev = startProgram(process.execPath, args, { cwd: dir, env: { ...ALL_ENV, DATABASE_URL: db.url } })
  const ready = await dev.line<Ready & { sources: string[] }>('ready')
  expect(ready.sources).toEqual(['demo', 'stripe'])
  expect((await post(ready.port, '/in/stripe', { id: 'evt_1', type: 'a' })).status).toBe(202)
  writeFileSync(join(dir, 'hookonce.config.yaml'), `${yaml(app.url)}retries: 3`)
  await until('the fault is reported', () => dev.output.stderr.includes('hookonce.config.yaml:6:1: unknown'))
  writeFileSync(join(dir, 'hookonce.config.yaml'), yaml(app.url).replace('stripe', 'money'))
  await until('it is reloaded', () => dev.output.stderr.includes('the configuration was reloaded'))
  expect((await post(ready.port, '/in/money', { id: 'evt_2', type: 'a' })).status).toBe(202)
  expect((await post(ready.port, '/in/demo', { id: 'evt_3', type: 'a' })).status).toBe(401)
  await until('both are forwarded', () => app.bodies.length === 2)
})

function parsed(url: string): object {
  return {
    sources: { stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' } },
    destinations: { app: { url, secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] } },
  }
}

test('TypeScript without a loader fails with advice', async () => {
  const dir = project('hookonce.config.ts', typed('http://127.0.0.1:1/'))
  // The installed package, without the development dependencies, such as jiti.
  const copy = join(temporaryDirectory(), 'hookonce')
  cpSync(join(ROOT, 'dist'), join(copy, 'dist'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(copy, 'package.json'))
  mkdirSync(join(copy, 'node_modules'))
  for (const name of ['pg', 'zod', 'yaml'])
    symlinkSync(join(ROOT, 'node_modules', name), join(copy, 'node_modules', name))
  const args = [join(copy, 'dist/cli/bin.js'), 'serve', '--check']
  const checking = startProgram(process.execPath, args, { cwd: dir, env: ALL_ENV })
  const exitCode = await checking.ended()
  // Newer versions of Node.js load TypeScript without jiti.
  if ('typescript' in process.features && process.features.typescript) {
    expect(checking.output.stderr).not.toContain('jiti')
    return
  }
  expect(exitCode).toBe(1)
  expect(checking.output.stderr).toContain('does not load TypeScript: run `npm install jiti`')
})

test.each([
  {
    name: 'a module that throws',
    file: 'c.mjs',
    text: `throw new Error('no luck')`,
    says: 'c.mjs cannot be loaded: no luck',
  },
  {
    name: 'a module without a default',
    file: 'c.mjs',
    text: 'export const a = 1',
    says: 'c.mjs has no default export',
  },
  { name: 'another ending', file: 'c.toml', text: '', says: 'c.toml has an unknown ending' },
  {
    name: 'a module that is wrong',
    file: 'c.mjs',
    text: 'export default { sorces: {} }',
    says: 'unknown "sorces" (did you mean "sources"?)',
  },
  {
    name: 'a line that is wrong',
    file: 'c.yaml',
    text: 'sources:\n  a:\n    provider: strip\ndestinations: {}\n',
    says: 'c.yaml:3:15: sources.a.provider: no provider is named "strip" (did you mean "stripe"?)',
  },
])('$name is refused by --check', async ({ file, text, says }) => {
  const path = join(temporaryDirectory(), file)
  writeFileSync(path, text)
  const ended = await cli(['serve', '--check', '--config', path])
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain(says)
  expect(ended.stderr).not.toMatch(/^\s+at /m)
})

test.each([
  {
    what: 'a private address that is not allowed',
    text: yaml('http://127.0.0.1:1/').replace(', allowPrivate: ["127.0.0.1"]', ''),
    says: 'hookonce.config.yaml:5:15: destinations.app.url: 127.0.0.1 is a loopback address; to allow it, add "allowPrivate": ["127.0.0.1"] to destinations.app',
  },
  {
    what: 'the address of cloud metadata, together with everything else that is wrong',
    text: `sources:
  stripe: { provider: stripe, secret: env:STRIPE_SECRET }
destinations:
  meta: { url: "http://169.254.169.254/", secret: env:FORWARD_SECRET }
  local: { url: "http://localhost:3000/", secret: env:FORWARD_SECRET }
  app: { url: "http://[fd00::1]/", secret: env:FORWARD_SECRET, rate: { perSecond: 0 } }
routes:
  - { from: stripe, to: [meta, local, ap] }
`,
    says: 'hookonce.config.yaml has 5 faults',
    also: [
      ':4:16: destinations.meta.url: 169.254.169.254 is a metadata address',
      ':5:17: destinations.local.url: localhost resolves to 127.0.0.1, a loopback address',
      ':6:15: destinations.app.url: fd00::1 is a private address',
      ':8:39: routes.0.to.2: no destination is named "ap" (did you mean "app"?)',
    ],
  },
  {
    what: 'sources whose events nobody gets, each with its line',
    text: `sources:
  stripe: { provider: stripe, secret: env:STRIPE_SECRET }
  one: { provider: stripe, secret: env:STRIPE_SECRET }
  kept: { provider: stripe, secret: env:STRIPE_SECRET, unwanted: record }
destinations:
  app: { url: "https://app.example/", secret: env:FORWARD_SECRET, sources: [kept] }
`,
    says: 'DESTINATION_MISSING',
    also: [
      ':2:3: sources.stripe: no destination gets the events of this source',
      ':3:3: sources.one: no destination gets the events of this source',
      'set "unwanted": "record"',
    ],
  },
  {
    what: 'a key that is none',
    text: `${yaml('http://127.0.0.1:1/')}\nencryption: { key: env:FORWARD_SECRET }\n`,
    says: 'encryption.key: key 1 is not 32 bytes',
  },
])('--check refuses the same as a start: $what', async ({ text, says, also = [] }) => {
  const path = join(temporaryDirectory(), 'hookonce.config.yaml')
  writeFileSync(path, text)
  const ended = await cli(['serve', '--check', '--config', path], ALL_ENV)
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  for (const line of [says, ...also]) expect(ended.stderr).toContain(line)
})

test('several files in one folder, and none, are refused', async () => {
  const dir = project('hookonce.config.yaml', yaml('http://127.0.0.1:1/'))
  writeFileSync(join(dir, 'hookonce.json'), '{}')
  const several = startProgram(process.execPath, [MAIN, 'serve', '--check'], { cwd: dir })
  const none = startProgram(process.execPath, [MAIN, 'serve', '--check'], { cwd: temporaryDirectory() })
  await until('both have ended', () => several.child.exitCode === 1 && none.child.exitCode === 1)
  expect(several.output.stderr).toContain(
    'there are several configuration files: hookonce.config.yaml, hookonce.json',
  )
  expect(none.output.stderr).toContain(
    'there is no hookonce.config.json (or .yaml, .ts, .mjs, .js) in this folder',
  )
})

test('--check prints a summary of the examples, and no secret', async () => {
  const secrets = {
    STRIPE_WEBHOOK_SECRET: 'whsec_planted_1',
    STRIPE_WEBHOOK_SECRET_OLD: 'whsec_planted_2',
    ACME_GITHUB_SECRET: 'planted_3',
    ACME_STRIPE_SECRET: 'whsec_planted_4',
    BOLT_STRIPE_SECRET: 'whsec_planted_5',
    FORWARD_SECRET,
  }
  const path = join(ROOT, 'examples/gateway/hookonce.config.yaml')
  const text = await cli(['serve', '--check', '--config', path], secrets)
  expect(text.stderr).toBe('')
  expect(text.code).toBe(0)
  expect(text.stdout).toMatch(/^acme\/github +github +acme +\/in\/acme\/github$/m)
  expect(text.stdout).toMatch(/^stripe +charge\.succeeded +yes +large-payments$/m)
  const json = await cli(['serve', '--check', '--json', '--config', path], secrets)
  expect(json.json<{ routes: unknown[] }>().routes).toContainEqual({
    source: 'stripe',
    types: ['invoice.*', 'charge.*'],
    filtered: false,
    destination: 'billing',
  })
  const typescript = join(ROOT, 'examples/gateway/typescript/hookonce.config.ts')
  const second = await cli(['serve', '--check', '--config', typescript], secrets)
  expect(second.stdout).toMatch(/^bolt\/stripe +invoice\.\* +app$/m)
  for (const secret of Object.values(secrets))
    for (const { stdout, stderr } of [text, json, second]) expect(stdout + stderr).not.toContain(secret)
})

test('the JSON Schema is printed as it is shipped', async () => {
  const printed = await cli(['config-schema', '--json'])
  expect(printed.code).toBe(0)
  expect(printed.stdout).toBe(readFileSync(join(ROOT, 'dist/gateway/config.schema.json'), 'utf8'))
})

const OPS_TOKEN = 'the-token-of-this-test-0123'

test('tenants, routes, filters, limits and the admin path are in force, and no secret is printed', async () => {
  const db = await freshDatabase()
  const [large, code] = [await destination(), await destination()]
  const config = {
    sources: {
      stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET', maxBodyBytes: 200 },
      'acme/github': { provider: 'github', secret: 'env:CODE_SECRET' },
      'bolt/github': { provider: 'github', secret: 'env:CODE_SECRET', allow: ['192.0.2.0/24'] },
      slow: { provider: 'stripe', secret: 'env:STRIPE_SECRET', ratePerSecond: 0.001 },
    },
    destinations: {
      large: { url: large.url, secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] },
      code: { url: code.url, secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] },
    },
    routes: [
      {
        from: ['stripe', 'slow'],
        types: 'charge.*',
        where: { all: [{ body: 'data.amount', atLeast: 100 }, { not: { header: 'x-test', exists: true } }] },
        to: 'large',
      },
      { from: '*/github', types: 'push', to: 'code' },
    ],
    limits: { maxConnections: 50, retryAfterSeconds: 7 },
    retention: { bodyDays: 3, keyDays: 40 },
    admin: { path: '/ops/', token: 'env:OPS_TOKEN' },
  }
  const gateway = startCli(serveArgs(configFile(config)), { ...ALL_ENV, OPS_TOKEN, DATABASE_URL: db.url })
  const { port, adminPort } = await gateway.line<Ready>('adminPort')
  const answers: string[] = []
  const status = async (sending: Promise<Response>): Promise<number> => {
    const response = await sending
    answers.push(await response.text(), JSON.stringify([...response.headers]))
    return response.status
  }
  const charge = (id: string, amount: number, pad = ''): object => ({
    id,
    type: 'charge.succeeded',
    data: { amount },
    pad,
  })
  expect(await status(post(port, '/in/stripe', charge('evt_1', 500)))).toBe(202)
  expect(await status(post(port, '/in/default/stripe', charge('evt_1', 500)))).toBe(200)
  expect(await status(post(port, '/in/stripe', charge('evt_2', 5)))).toBe(200)
  expect(await status(post(port, '/in/acme/stripe', charge('evt_3', 500)))).toBe(404)
  expect(await status(post(port, '/in/stripe', charge('evt_4', 500, 'x'.repeat(200))))).toBe(413)
  expect(await status(post(port, '/in/slow', charge('evt_5', 500)))).toBe(202)
  const limited = await post(port, '/in/slow', charge('evt_6', 500))
  expect(limited.status).toBe(429)
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(900)

  const body = '{"repository":{"full_name":"a/b"}}'
  const headers = {
    ...github({ secret: CODE_SECRET }).sign({ body }),
    'x-github-event': 'push',
    'x-github-delivery': 'delivery-1',
  }
  const push = (path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body, headers })
  expect(await status(push('/in/acme/github'))).toBe(202)
  expect(await status(push('/in/bolt/github'))).toBe(403)
  expect(await status(push('/in/github'))).toBe(404)

  await until('all is forwarded', () => large.bodies.length === 2 && code.bodies.length === 1)
  expect(large.bodies.map((text) => (JSON.parse(text) as { id: string }).id).sort()).toEqual([
    'evt_1',
    'evt_5',
  ])
  expect(await db.rows('select tenant, source, event_key from hookonce.receipt order by 1, 2, 3')).toEqual([
    { tenant: 'acme', source: 'github', event_key: 'delivery-1' },
    { tenant: 'default', source: 'slow', event_key: 'evt_5' },
    { tenant: 'default', source: 'stripe', event_key: 'evt_1' },
  ])
  expect(await db.number('select count(*) from hookonce.job')).toBe(3)
  expect(await db.rows('select distinct body_seconds from hookonce.source')).toEqual([
    { body_seconds: 3 * 86_400 },
  ])

  const admin = async (path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${adminPort}${path}`, { headers: { authorization: `Bearer ${OPS_TOKEN}` } })
  const metrics = await (await admin('/ops/metrics')).text()
  expect(metrics).toContain('hookonce_rejected_total{source="bolt/github",reason="ADDRESS_NOT_ALLOWED"} 1')
  expect(metrics).toContain('hookonce_rejected_total{source="slow",reason="RATE_LIMITED"} 1')
  expect(metrics).toContain('hookonce_received_total{source="acme/github"} 1')
  expect((await admin('/metrics')).status).toBe(404)
  expect((await admin('/opsmetrics')).status).toBe(404)
  expect((await admin('/ops/healthz')).status).toBe(200)
  expect((await admin('/healthz')).status).toBe(200)
  expect(await gateway.stop()).toBe(0)
  expect(await db.rows('select source, code from hookonce.rejection order by 1, 2')).toEqual([
    { source: '(unknown)', code: 'SOURCE_UNKNOWN' },
    { source: 'bolt/github', code: 'ADDRESS_NOT_ALLOWED' },
    { source: 'slow', code: 'RATE_LIMITED' },
    { source: 'stripe', code: 'BODY_TOO_LARGE' },
  ])
  const said = [...answers, metrics, gateway.output.stderr, gateway.output.stdout].join('\n')
  for (const secret of [SECRET, FORWARD_SECRET, CODE_SECRET, OPS_TOKEN]) expect(said).not.toContain(secret)
})

test.each([1, 2])('connections beyond maxConnections are closed, per process (%d)', async (processes) => {
  const db = await freshDatabase()
  const path = configFile({ ...parsed('http://127.0.0.1:1/'), limits: { maxConnections: 2 } })
  const gateway = startCli(serveArgs(path, '--workers', String(processes)), {
    ...ALL_ENV,
    DATABASE_URL: db.url,
  })
  const { port } = await gateway.line<Ready>('port')
  const url = `http://127.0.0.1:${port}`
  const attempt = async (): Promise<RawConnection | undefined> => {
    const connection = await rawConnection(url)
    const answered = new Promise((resolve) => connection.socket.once('data', resolve))
    connection.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    const outcome = await Promise.race([answered.then(() => 'answered'), connection.closed()])
    return outcome === 'answered' ? connection : undefined
  }
  const kept: RawConnection[] = []
  for (let n = 0; n < 12; n += 1) kept.push(...[await attempt()].filter((one) => one !== undefined))
  // Connections are not distributed evenly, so one process may be full before another.
  expect(kept.length).toBeGreaterThanOrEqual(2)
  expect(kept.length).toBeLessThanOrEqual(2 * processes)
  for (const { socket } of kept) socket.destroy()
  await until('there is room again', attempt)
})

test('host, port and database come from the file, unless the command line overrides them', async () => {
  const db = await freshDatabase()
  const config = { ...parsed('http://127.0.0.1:1/'), host: '127.0.0.1', port: 0, database: 'env:LEDGER_URL' }
  const gateway = startCli(['serve', '--config', configFile(config)], { ...ALL_ENV, LEDGER_URL: db.url })
  const { port } = await gateway.line<Ready>('port')
  expect((await post(port, '/in/stripe', { id: 'evt_1', type: 'a' })).status).toBe(202)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
  expect(gateway.output.stderr).not.toContain(db.url)
  const refused = await cli(['serve', '--config', configFile({ ...config, database: db.url })], ALL_ENV)
  expect(refused.stderr).toContain('database: pass the secret as "env:NAME" or "file:/path"')
  expect(refused.stderr).not.toContain(db.url)
})
