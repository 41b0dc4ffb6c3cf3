import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { cli, startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'

interface Ready {
  readonly port: number
  readonly adminPort: number
  readonly sources: string[]
  readonly environment: Record<string, string>
  readonly leftOut: { variable: string; why: string }[]
  readonly curl: string
  readonly database: string
}

interface Listed {
  readonly id: string
  readonly eventKey: string
  readonly states: string[]
  readonly duplicates: number
}

/** `dev` on its own embedded server, or on DATABASE_URL, depending on the test project. */
async function dev(variables: Record<string, string> = {}) {
  const dir = temporaryDirectory()
  const env: Record<string, string> =
    inject('server') === 'installed' ? { DATABASE_URL: (await freshDatabase()).url } : {}
  const running = startCli(['dev', '--port', '0', '--dir', dir, '--json'], { ...env, ...variables })
  const ready = await running.line<Ready>('ready')
  const pool = new pg.Pool({
    connectionString: env.DATABASE_URL ?? withPassword(ready.database, dir),
    max: 1,
  })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return {
    dir,
    running,
    ready,
    url: `http://127.0.0.1:${ready.port}`,
    adminUrl: `http://127.0.0.1:${ready.adminPort}`,
    look: (...args: string[]) => cli([...args, '--dir', dir], env),
    async rows(text: string): Promise<Record<string, unknown>[]> {
      return (await pool.query(text)).rows
    },
  }
}

/** dev does not print the password of its server. A file next to the data holds it. */
function withPassword(database: string, dir: string): string {
  const url = new URL(database)
  url.password = readFileSync(join(dir, 'password'), 'utf8').trim()
  return url.toString()
}

/** Runs a line exactly as printed. */
async function paste(line: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)('sh', ['-c', `${line} -s`])
  return JSON.parse(stdout)
}

test('dev prints a line that works twice, and the other commands read while it runs', async () => {
  const { ready, look, rows, running, url } = await dev()
  expect(ready.sources).toContain('demo')
  // An empty dashboard shows the same line.
  const gateway = await fetch(`http://127.0.0.1:${ready.adminPort}/api/v1/gateway`)
  expect(await gateway.json()).toMatchObject({ captures: true, firstEvent: ready.curl })
  const first = (await paste(ready.curl)) as { receipt: string }
  expect(first).toMatchObject({ status: 'recorded' })
  expect(await paste(ready.curl)).toEqual({ status: 'duplicate', receipt: first.receipt })
  await until('it is processed and its repeat counted', async () => {
    const [row] =
      await rows(`select (select count(*)::int from hookonce.job where state = 'processed') as processed,
      (select count(*)::int from hookonce.duplicate) as repeated`)
    return row?.processed === 1 && row?.repeated === 1
  })

  const listed = (await look('events', '--json')).json<Listed[]>()
  expect(listed).toMatchObject([
    { id: first.receipt, eventKey: 'evt_1', states: ['processed'], duplicates: 1 },
  ])
  expect((await look('events', '--source', 'nobody', '--json')).json()).toEqual([])
  expect((await look('events')).stdout).toContain(first.receipt)

  const shown = (await look('show', first.receipt, '--json')).json<object>()
  expect(shown).toMatchObject({
    id: first.receipt,
    source: 'demo',
    eventType: 'invoice.paid',
    deliveries: { count: 2, mismatches: 0 },
    jobs: [{ subscriber: 'dev', state: 'processed', attempt: 1 }],
    body: '{"id":"evt_1","type":"invoice.paid"}',
  })
  expect((await look('show', first.receipt.slice(0, 8), '--json')).json()).toEqual({
    ...shown,
    asOf: expect.any(String),
  })
  expect((await look('show', first.receipt)).stdout).toContain('invoice.paid')
  const unknown = await look('show', '0123456789ab')
  expect(unknown.code).toBe(1)
  expect(unknown.stderr).toContain('RECEIPT_UNKNOWN')
  expect(unknown.stderr).toContain('`hookonce events` lists the latest')

  expect((await look('replay', first.receipt.slice(0, 8), '--json')).json()).toEqual({
    receiptId: first.receipt,
    jobs: 1,
    unattended: [],
  })
  await until('it ran again', async () => {
    const [row] = await rows(`select fence, state from hookonce.job`)
    return row?.fence === 2 && row.state === 'processed'
  })

  expect((await look('rejections', '--json')).json()).toEqual([])
  await fetch(`${url}/in/demo`, { method: 'POST', body: '{}' })
  await until('the refusal is written', async () => {
    const refused = (await look('rejections', '--json')).json<unknown[]>()
    if (refused.length === 0) return false
    expect(refused).toMatchObject([{ source: 'demo', code: 'SIGNATURE_MISSING', count: 1 }])
    return true
  })
  expect(await running.stop()).toBe(0)
})

test('trigger plays the demo source without any secret, where dev runs', async () => {
  const { look, url } = await dev()
  expect((await look('events')).stdout).toContain('`hookonce trigger demo`')
  const copies = ['--times', '3', '--concurrent', '--url', `${url}/in/demo`]
  const sent = await look('trigger', 'demo', 'order.paid', ...copies, '--json')
  expect(sent).toMatchObject({ code: 0 })
  const statuses = sent.json<{ status: number }[]>().map(({ status }) => status)
  expect(statuses.sort()).toEqual([200, 200, 202])
  expect((await look('events', '--json')).json<Listed[]>()).toHaveLength(1)

  const elsewhere = temporaryDirectory()
  const refused = await cli(['trigger', 'demo', '--dir', elsewhere])
  expect(refused).toMatchObject({ code: 1 })
  expect(refused.stderr).toContain('start `hookonce dev` here, or give its --dir')
  expect(readdirSync(elsewhere)).toEqual([])
})

test('a provider whose secret is in the environment is received, and trigger plays it with the same variables', async () => {
  const stripe = { STRIPE_WEBHOOK_SECRET: 'whsec_try' }
  const square = {
    SQUARE_WEBHOOK_SECRET: 'signature-key',
    SQUARE_WEBHOOK_URL: 'https://tunnel.example/in/square',
  }
  const braintree = { BRAINTREE_WEBHOOK_SECRET: 'private', BRAINTREE_PUBLIC_KEY: 'public' }
  const standard = { STANDARD_WEBHOOKS_SECRET: `whsec_${Buffer.alloc(24, 1).toString('base64')}` }
  const { ready, rows, url } = await dev({
    ...stripe,
    ...square,
    ...braintree,
    ...standard,
    META_WEBHOOK_SECRET: 'without its verify token',
    TRELLO_WEBHOOK_SECRET: 'without its URL',
    DISCORD_WEBHOOK_SECRET: 'no key',
  })
  expect(ready.environment).toEqual({
    stripe: 'STRIPE_WEBHOOK_SECRET',
    square: 'SQUARE_WEBHOOK_SECRET',
    braintree: 'BRAINTREE_WEBHOOK_SECRET',
    'standard-webhooks': 'STANDARD_WEBHOOKS_SECRET',
  })
  expect(ready.sources.toSorted()).toEqual(['demo', ...Object.keys(ready.environment)].toSorted())
  expect(ready.leftOut).toEqual([
    { variable: 'DISCORD_WEBHOOK_SECRET', why: expect.stringContaining('not a public key') },
    { variable: 'META_WEBHOOK_SECRET', why: 'meta needs META_VERIFY_TOKEN too' },
    { variable: 'TRELLO_WEBHOOK_SECRET', why: 'trello needs TRELLO_WEBHOOK_URL too' },
  ])

  const triggered = (provider: string, env: Record<string, string>) =>
    cli(['trigger', provider, '--url', `${url}/in/${provider}`, '--times', '3', '--json'], env)
  for (const [provider, env] of Object.entries({
    stripe,
    square,
    braintree,
    'standard-webhooks': standard,
  })) {
    const ran = await triggered(provider, env)
    expect(ran, `${provider}: ${ran.stdout}`).toMatchObject({ code: 0, stderr: '' })
  }
  expect(
    await rows('select source, count(*)::int from hookonce.receipt group by source order by source'),
  ).toEqual(['braintree', 'square', 'standard-webhooks', 'stripe'].map((source) => ({ source, count: 1 })))

  const unknown = await triggered('github', { GITHUB_WEBHOOK_SECRET: 'x' })
  expect(unknown).toMatchObject({ code: 1 })
  expect(unknown.stderr).toContain('has no source for /in/github')
  expect(unknown.stderr).toContain('GITHUB_WEBHOOK_SECRET=… npx hookonce dev')
  const other = await triggered('stripe', { STRIPE_WEBHOOK_SECRET: 'whsec_other' })
  expect(other).toMatchObject({ code: 1 })
  expect(other.stderr).toContain('has another secret')
  expect(other.stderr).toContain('STRIPE_WEBHOOK_SECRET=… npx hookonce dev')
})

test('dev lists the sources that it opened, each with its variable', async () => {
  const dir = temporaryDirectory()
  const env: Record<string, string> =
    inject('server') === 'installed' ? { DATABASE_URL: (await freshDatabase()).url } : {}
  const { output } = startCli(
    ['dev', '--port', '0', '--dir', dir, '--forward-to', 'http://127.0.0.1:1/app'],
    {
      ...env,
      STRIPE_WEBHOOK_SECRET: 'whsec_try',
      META_WEBHOOK_SECRET: 'x',
    },
  )
  await until('it greets', () => output.stdout.includes('Look in from another terminal'))
  expect(output.stdout).toContain('POST /in/stripe (STRIPE_WEBHOOK_SECRET)')
  expect(output.stdout).toContain('left out   META_WEBHOOK_SECRET: meta needs META_VERIFY_TOKEN too')
  expect(output.stdout).toContain('metrics    http://127.0.0.1:')
  expect(output.stdout).toContain(`http://127.0.0.1:1/app, signed with the secret in ${dir}/forward-secret`)
  expect(output.stdout).toMatch(
    new RegExp(`ledger {5}postgres://hookonce@\\S+, password in ${dir}/password\\n`),
  )
  for (const name of ['password', 'demo-secret', 'forward-secret'])
    expect(output.stdout).not.toContain(readFileSync(join(dir, name), 'utf8').trim())
})

test('dev shows the database of DATABASE_URL without its password', async () => {
  const db = await freshDatabase()
  const url = new URL(db.url)
  url.password ||= 'any-will-do'
  const args = ['dev', '--port', '0', '--dir', temporaryDirectory()]
  const shown = startCli(args, { DATABASE_URL: url.toString() })
  await until('it greets', () => shown.output.stdout.includes('Look in from another terminal'))
  expect(shown.output.stdout).toContain(`postgres://${url.username}@${url.host}${url.pathname}`)
  const json = startCli([...args, '--json'], { DATABASE_URL: url.toString() })
  await json.line('ready')
  for (const { stdout, stderr } of [shown.output, json.output])
    expect(stdout + stderr).not.toContain(url.password)
})

test('dev refuses a password in --forward-to, and does not repeat it', async () => {
  const args = [
    'dev',
    '--port',
    '0',
    '--dir',
    temporaryDirectory(),
    '--forward-to',
    'http://anna:hunter2@app/',
  ]
  const refused = await cli(args)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('--forward-to must not contain a user or password')
  expect(refused.stderr).not.toContain('hunter2')
})

test('pause holds the jobs of a source in the ledger, resume releases them', async () => {
  const { ready, look, rows } = await dev()
  const paused = await look('pause', 'demo')
  expect(paused).toMatchObject({ code: 0, stdout: 'demo is paused\n' })
  expect(await paste(ready.curl)).toMatchObject({ status: 'recorded' })
  expect(await rows('select state, attempt from hookonce.job')).toEqual([{ state: 'received', attempt: 0 }])
  expect((await look('resume', 'demo')).stdout).toBe('demo is running\n')
  await until('it is processed', async () => {
    const [row] = await rows('select state from hookonce.job')
    return row?.state === 'processed'
  })
  expect((await look('pause', 'demo', 'dev')).stdout).toBe('demo dev is paused\n')
  expect(await rows('select name from hookonce.subscriber where paused_at is not null')).toEqual([
    { name: 'dev' },
  ])
  const unknown = await look('pause', 'nobody')
  expect(unknown.code).toBe(1)
  expect(unknown.stderr).toContain('the ledger knows no source "nobody"')
})

test('healthz, readyz and metrics report the state, and other paths name the delivery path', async () => {
  const { url, adminUrl, ready } = await dev()
  await paste(ready.curl)
  for (const listener of [url, adminUrl]) {
    expect((await fetch(`${listener}/healthz`)).status).toBe(200)
    expect((await fetch(`${listener}/readyz`)).status).toBe(200)
  }
  expect((await fetch(`${url}/metrics`)).status).toBe(404)
  const lost = await fetch(`${url}/nowhere`)
  expect(lost.status).toBe(404)
  expect(await lost.text()).toContain('POST /in/:source')
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  expect(metrics).toContain('hookonce_received_total{source="demo"} 1')
  const names = [...metrics.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1])
  for (const name of [
    'hookonce_received_total',
    'hookonce_duplicate_total',
    'hookonce_mismatch_total',
    'hookonce_unwanted_total',
    'hookonce_rejected_total',
    'hookonce_processed_total',
    'hookonce_retrying_total',
    'hookonce_failed_total',
    'hookonce_accept_seconds',
    'hookonce_attempt_seconds',
    'hookonce_processing_lag_seconds',
    'hookonce_jobs_waiting',
    'hookonce_jobs_retrying',
    'hookonce_jobs_failed',
  ])
    expect(names).toContain(name)
})

test('a port that is taken ends dev with PORT_TAKEN, and leaves no server behind', async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void taken.close())
  const address = taken.address()
  const port = String(typeof address === 'object' ? address?.port : 0)
  const dir = temporaryDirectory()
  const env: Record<string, string> =
    inject('server') === 'installed' ? { DATABASE_URL: (await freshDatabase()).url } : {}
  const ended = await cli(['dev', '--port', port, '--dir', dir], env)
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('PORT_TAKEN')
  expect(ended.stderr).toContain('--port')
  // Nothing was opened, so no subscriber was registered.
  expect(existsSync(join(dir, 'postgres'))).toBe(false)
  const left = await promisify(execFile)('ps', ['-eo', 'args'])
  expect(left.stdout).not.toContain(dir)
})
