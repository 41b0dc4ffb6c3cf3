import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { providerIds } from '../../src/sources/index.ts'
import { startCli, temporaryDirectory } from '../support/cli.ts'
import { freshDatabase } from '../support/database.ts'
import { openPage } from './support/open-page.ts'
import { smallDashboard } from './support/small-dashboard.ts'
import { smallLedger } from './support/small-ledger.ts'

/*
 * Sources, destinations, captured requests and settings: every action, checked by its rows in the
 * ledger.
 */

const audit = (action: string) =>
  `select actor, subject, why from hookonce.audit where action = '${action}' order by id`

test('a source is paused and resumed, with the reason in the audit', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 30 })
  const { page } = await openPage('/sources', { dashboard })
  const dialog = page.getByRole('dialog')
  const isPaused = `select (paused_at is not null)::int from hookonce.source where name = 'stripe'`

  await page.getByRole('button', { name: 'Pause stripe' }).click()
  await dialog.getByText('No delivery is lost').waitFor()
  await dialog.getByLabel('Why?').fill('the ledger moves')
  await dialog.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Resume stripe' }).waitFor()
  expect(await db.number(isPaused)).toBe(1)

  await page.getByRole('button', { name: 'Resume stripe' }).click()
  await dialog.getByLabel('Why?').fill('it has moved')
  await dialog.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('button', { name: 'Pause stripe' }).waitFor()
  expect(await db.number(isPaused)).toBe(0)
  expect((await db.rows(audit('pause'))).at(-1)).toMatchObject({ why: 'the ledger moves' })
})

test('a test event is signed, recorded and found by its link', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 30 })
  const { page } = await openPage('/sources', { dashboard })
  const dialog = page.getByRole('dialog')

  await page.getByRole('button', { name: 'Test stripe' }).click()
  await dialog.getByLabel('Type').fill('customer.subscription.updated')
  await dialog.getByLabel('Why?').fill('does it work?')
  await dialog.getByRole('button', { name: 'Send a test event' }).click()
  await page.getByText('customer.subscription.updated was answered 202.').waitFor()
  const address = await page.getByRole('link', { name: 'Open it' }).getAttribute('href')
  const id = address?.split('/').at(-1)
  expect(await db.rows('select event_type, source from hookonce.receipt where id = $1', [id])).toEqual([
    { event_type: 'customer.subscription.updated', source: 'stripe' },
  ])
  expect(await db.rows(audit('test-event'))).toMatchObject([{ subject: 'stripe', why: 'does it work?' }])
})

test('the catalogue finds a provider by its name, and the address keeps the search', async () => {
  const { page } = await openPage('/sources?provider=shopify')
  const rows = page.getByRole('table', { name: 'Catalogue' }).getByRole('row')
  await page.getByText('SHOPIFY_WEBHOOK_SECRET').waitFor()
  expect(await rows.count()).toBe(2)
  await page.getByText(`1 of ${providerIds.length}`).waitFor()
  await page.getByLabel('Search the catalogue').fill('no-such-sender')
  await page.getByText('No provider matches').waitFor()
  expect(new URL(page.url()).searchParams.get('provider')).toBe('no-such-sender')
})

test('a destination is paused for each of its sources', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 30 })
  const { page } = await openPage('/destinations', { dashboard })
  const destinations = page.getByRole('table', { name: 'Destinations' })
  const name = 'crm'
  await destinations.getByRole('button', { name: `Pause ${name}` }).click()
  await page.getByRole('dialog').getByLabel('Why?').fill('their release')
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
  await destinations.getByRole('button', { name: `Resume ${name}` }).waitFor()
  expect(
    await db.rows(
      `select bool_and(paused_at is not null) as paused from hookonce.subscriber where name = $1`,
      [name],
    ),
  ).toEqual([{ paused: true }])
})

test('a token is created, shown once, and revoked', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 30 })
  const { page } = await openPage('/settings', { dashboard })
  const dialog = page.getByRole('dialog')

  await page.getByRole('button', { name: 'Make a token' }).click()
  await dialog.locator('input[name=name]').fill('grafana')
  await dialog.getByLabel('Why?').fill('panels')
  await dialog.getByRole('button', { name: 'Make a token' }).click()
  await dialog.getByText('Copy it now.').waitFor()
  const token = await dialog.locator('code').textContent()
  const answer = await fetch(`${dashboard}/api/v1/events`, { headers: { authorization: `Bearer ${token}` } })
  expect(answer.status).toBe(200)
  await dialog.getByRole('button', { name: 'Done' }).click()
  expect(await page.content()).not.toContain(token)
  expect(await db.rows(`select role, bodies from hookonce.token where name = 'grafana'`)).toEqual([
    { role: 'viewer', bodies: false },
  ])

  await page.getByRole('button', { name: 'Revoke grafana' }).click()
  await dialog.getByLabel('Why?').fill('not needed')
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('grafana is revoked.').waitFor()
  expect(await db.number(`select count(revoked_at) from hookonce.token where name = 'grafana'`)).toBe(1)
  await page.getByRole('tab', { name: 'Audit' }).click()
  await page.getByText('not needed').waitFor()
})

test('a viewer sees every page of the set-up, and no button that changes something', async () => {
  const { dashboard, tokenFor } = await smallLedger({ receipts: 30 })
  const token = await tokenFor('viewer')
  const { page, go } = await openPage('/sources', { dashboard, token })
  await page.getByText('AfterShip Tracking').waitFor()
  await go('/destinations')
  await page.getByRole('table', { name: 'Subscribers' }).waitFor()
  expect(await page.getByRole('button', { name: /Pause|Resume|Test/ }).count()).toBe(0)
  await go('/settings')
  await page.getByText('Tokens are for admins').waitFor()
  expect(await page.getByRole('button', { name: 'Make a token' }).count()).toBe(0)
})

test('a captured request shows its configuration, and its body is inert', async () => {
  const db = await freshDatabase()
  const ports = ['--port', '0', '--admin-port', '0']
  const dev = startCli(['dev', ...ports, '--dir', temporaryDirectory(), '--json'], { DATABASE_URL: db.url })
  const { port, adminPort } = await dev.line<{ port: number; adminPort: number }>('adminPort')
  const body = '{"n":12345678901234567890,"x":"<img src=x onerror=alert(1)>"}'
  const headers = { 'x-github-event': 'push', 'x-github-delivery': 'd-1', 'x-hub-signature-256': 'sha256=0' }
  await fetch(`http://127.0.0.1:${port}/in/hub`, { method: 'POST', body, headers })

  const { page } = await openPage('/captured', { dashboard: `http://127.0.0.1:${adminPort}`, token: null })
  await page.getByText('POST /in/hub').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('"provider": "github"').waitFor()
  expect(await dialog.locator('pre').textContent()).toBe(body)
  expect(await dialog.locator('img').count()).toBe(0)
})

test('a captured body that is not text is downloaded as it arrived', async () => {
  const db = await freshDatabase()
  const ports = ['--port', '0', '--admin-port', '0']
  const dev = startCli(['dev', ...ports, '--dir', temporaryDirectory(), '--json'], { DATABASE_URL: db.url })
  const { port, adminPort } = await dev.line<{ port: number; adminPort: number }>('adminPort')
  const { page } = await openPage('/captured', { dashboard: `http://127.0.0.1:${adminPort}`, token: null })
  await page.getByText(`curl http://127.0.0.1:${port}/in/anything`).waitFor()

  const body = Buffer.from([0xff, 0x00, 0xfe, 0x0a])
  await fetch(`http://127.0.0.1:${port}/in/bytes`, { method: 'POST', body })
  await page.getByText('POST /in/bytes').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('The body is not text.').waitFor()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'Download the body' }).click(),
  ])
  const saved = join(temporaryDirectory(), 'body')
  await file.saveAs(saved)
  expect(readFileSync(saved)).toEqual(body)
})

test('a gateway that keeps no requests is not asked for them, nor is a token of one tenant', async () => {
  const { open, token } = await smallDashboard(await freshDatabase())
  const { page } = await open('/captured')
  await page.getByText('This gateway keeps no requests').waitFor()
  const bound = await token({ name: 'acme-only', role: 'viewer', tenant: 'acme' })
  const other = await open('/captured', { token: bound })
  await other.page.getByText('shown to those who see all tenants').waitFor()
})
