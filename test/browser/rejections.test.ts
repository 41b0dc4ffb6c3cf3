import { createHmac } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { ADMIN_TOKEN } from '../../scripts/seeding/gateway.mjs'
import { stripe } from '../../src/sources/index.ts'
import { MAIN, pasted, type RunningCli, startProgram, temporaryDirectory } from '../support/cli.ts'
import { freshDatabase } from '../support/database.ts'
import { ENV, SECRET } from '../support/gateway.ts'
import { seededLedger } from '../support/seeded-ledger.ts'
import { testEveryView } from './support/every-view.ts'
import { openPage } from './support/open-page.ts'
import { smallDashboard } from './support/small-dashboard.ts'

/* The page of refused deliveries: the diagnosis, the change to make, and a command to try it. */

testEveryView('/rejections', (page) => page.getByText('What to change').waitFor())

async function copied(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByText('Copied').first().waitFor()
  return page.evaluate<string>('navigator.clipboard.readText()')
}

test('a refusal shows its diagnosis, its header, the advice and the command to copy', async () => {
  const { db, row } = await seededLedger()
  await row('rejection', {
    source: 'stripe',
    code: 'SIGNATURE_MISSING',
    count: 31,
    last_detail: 'the header x-shop-signature is missing',
    diagnosis: 'a proxy dropped the header',
    header: 'x-shop-signature',
  })
  await row('rejection', {
    source: '(unknown)',
    code: 'SOURCE_UNKNOWN',
    count: 1,
    last_at: new Date(Date.now() - 3_600_000),
    last_detail: 'no source is named "<b>x</b>"',
  })
  const { page } = await (await smallDashboard(db)).open('/rejections')
  await page.getByText('A proxy dropped the header.').waitFor()
  await page.getByText('x-shop-signature', { exact: true }).waitFor()
  await page.getByText('Check that the sender signs its requests').waitFor()
  await page.getByText('31 times').waitFor()
  expect(await copied(page)).toMatch(
    /^npx hookonce verify --source stripe --config \S+\/hookonce.json --headers headers.txt --body body.json$/,
  )

  // The latest refusal is open. One for another reason than the delivery itself cannot be verified, nor can a
  // source of the past.
  await row('rejection', { source: 'stripe', code: 'BODY_TOO_LARGE', count: 1, last_detail: 'too much' })
  await page.getByText('Too much.').waitFor()
  expect(await page.getByRole('button', { name: 'Copy', exact: true }).count()).toBe(0)
  await row('rejection', { source: 'gone', code: 'SIGNATURE_MISSING', count: 1, last_detail: 'no header' })
  await page.getByText('No header.').waitFor()
  expect(await page.getByRole('button', { name: 'Copy', exact: true }).count()).toBe(0)

  // A source that is not configured cannot be verified, and its name is harmless text.
  await page.getByRole('button', { name: /no source is named/ }).click()
  await page.getByText('No source is named "<b>x</b>".').waitFor()
  expect(await page.getByRole('button', { name: 'Copy', exact: true }).count()).toBe(0)
})

test('a new refusal appears without a reload', async () => {
  const { db, row } = await seededLedger()
  const { page } = await (await smallDashboard(db)).open('/rejections')
  await page.getByText('No delivery was refused').waitFor()
  const refused = { count: 1, last_detail: 'no secret matches', diagnosis: 'the secret is of the test mode' }
  await row('rejection', { source: 'test', code: 'SIGNATURE_MISMATCH', ...refused })
  await page.getByText('The secret is of the test mode.').waitFor()
})

/** A gateway that was started in its own folder, without the name of a file. */
async function startedIn(dir: string, command: readonly string[], env: Record<string, string>) {
  const args = [...command, '--port', '0', '--admin-port', '0']
  const running: RunningCli = startProgram(process.execPath, [MAIN, ...args], { cwd: dir, env })
  return running.line<{ port: number; adminPort: number }>('adminPort')
}

const BODY = '{"id":"evt_1","type":"invoice.paid"}'

/** Runs the command of the page with a genuine delivery and with the refused one. */
async function expectVerdicts(line: string, cwd: string, headers: Record<string, string>): Promise<void> {
  writeFileSync(join(cwd, 'body.json'), BODY)
  for (const [lines, code, verdict] of [
    [Object.entries(headers).map((pair) => pair.join(': ')), 0, /genuine/i],
    [['x-nothing: 1'], 1, /missing/i],
  ] as const) {
    writeFileSync(join(cwd, 'headers.txt'), lines.join('\n'))
    const ran = await pasted(line, { cwd, env: { ...ENV, STRIPE_WEBHOOK_SECRET: SECRET } })
    expect([ran.code, ran.stderr, ran.stdout]).toEqual([code, '', expect.stringMatching(verdict)])
  }
}

const YAML = `sources:
  acme/pay: { provider: stripe, tenant: acme, secret: "env:STRIPE_SECRET" }
destinations:
  app: { url: "https://app.example/hooks", secret: "env:FORWARD_SECRET" }
`

test('the command of a refusal finds a source of a YAML file', async () => {
  const { url } = await freshDatabase()
  const cwd = temporaryDirectory()
  writeFileSync(join(cwd, 'hookonce.config.yaml'), YAML)
  const { port, adminPort } = await startedIn(cwd, ['serve'], {
    ...ENV,
    DATABASE_URL: url,
    HOOKONCE_ADMIN_TOKEN: ADMIN_TOKEN,
  })
  const { page } = await openPage('/rejections', { dashboard: `http://127.0.0.1:${adminPort}` })
  await page.getByText('No delivery was refused').waitFor()
  const headers = stripe({ secret: SECRET }).sign({ body: BODY })
  await expectVerdicts(await copied(page), cwd, headers)

  const to = `http://127.0.0.1:${port}/in/acme/pay`
  expect((await fetch(to, { method: 'POST', body: BODY })).status).toBe(401)
  await page.getByText('What to change').waitFor()
  const line = await copied(page)
  expect(line).toContain('--source acme/pay --config hookonce.config.yaml')
  await expectVerdicts(line, cwd, headers)
})

test('the command of a refusal finds a source of `dev` without a file', async () => {
  const { url } = await freshDatabase()
  const cwd = temporaryDirectory()
  const env = { STRIPE_WEBHOOK_SECRET: SECRET, DATABASE_URL: url }
  const { port, adminPort } = await startedIn(cwd, ['dev', '--json', '--dir', 'local'], env)
  const { page, go } = await openPage('/', { dashboard: `http://127.0.0.1:${adminPort}`, token: null })
  for (const source of ['stripe', 'demo']) {
    const to = `http://127.0.0.1:${port}/in/${source}`
    expect((await fetch(to, { method: 'POST', body: BODY })).status).toBe(401)
    await go(`/rejections?of=${source}+SIGNATURE_MISSING`)
    await page.getByText('What to change').waitFor()
    const headers = source === 'stripe' ? stripe({ secret: SECRET }).sign({ body: BODY }) : demo(cwd)
    await expectVerdicts(await copied(page), cwd, headers)
  }
})

/** `dev` keeps the secret of its demo source in a file. */
function demo(cwd: string): Record<string, string> {
  const secret = readFileSync(join(cwd, 'local/demo-secret'), 'utf8').trim()
  return { 'demo-signature': createHmac('sha256', secret).update(BODY).digest('hex') }
}
