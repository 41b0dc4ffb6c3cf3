import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ADMIN_TOKEN, SIGNING_SECRET } from '../../scripts/seeding/gateway.mjs'
import { startCli, temporaryDirectory } from '../support/cli.ts'
import { freshDatabase } from '../support/database.ts'
import { proxyTo } from '../support/proxy.ts'
import { accessibilityFaults } from './support/accessibility.ts'
import { openPage } from './support/open-page.ts'
import { screenshot } from './support/screenshot.ts'
import { smallLedger } from './support/small-ledger.ts'

test('a gateway that is down is reported, and the shown data stays', async () => {
  const { dashboard, gateway } = await smallLedger({ receipts: 60 })
  const { page, faults } = await openPage('/events', { dashboard })
  const rows = page.getByRole('grid', { name: 'Events' }).getByRole('rowgroup').getByRole('row')
  await rows.nth(5).waitFor()
  faults.expect(/^50[03]: |net::ERR_|^console: .*(network|fetch)/i)

  await gateway.stop()
  await page.getByText('No answer from the gateway').waitFor()
  expect(await rows.count()).toBeGreaterThan(5)
})

test('a ledger that is down is an error with a button to try again', async () => {
  const { dashboard, db } = await smallLedger({ receipts: 60 })
  const { page, faults } = await openPage('/', { dashboard })
  await page.getByRole('heading', { name: 'Traffic' }).waitFor()
  faults.expect(/^50[03]: /)

  await db.rows('alter schema hookonce rename to gone')
  await page.getByRole('link', { name: 'Events', exact: true }).click()
  await page.getByRole('alert').getByText('This could not be read').waitFor()
  await db.rows('alter schema gone rename to hookonce')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('grid', { name: 'Events' }).waitFor()
})

test('of several ledgers, the one that cannot be read is named on every page until it is back', async () => {
  const [home, other] = await Promise.all([freshDatabase(), freshDatabase()])
  const proxy = await proxyTo(other.url)
  const config = join(temporaryDirectory(), 'hookonce.json')
  const source = { provider: 'stripe', secret: 'env:SEEDED_SECRET' }
  const placement = { hookonce_1: 'env:OTHER_URL' }
  writeFileSync(
    config,
    JSON.stringify({
      ledgers: { count: 2, placement, tenants: { near: 'hookonce_0', far: 'hookonce_1' } },
      sources: { near: { ...source, tenant: 'near' }, far: { ...source, tenant: 'far' } },
      destinations: { app: { url: 'https://app.example/hooks', secret: 'env:SEEDED_SECRET' } },
    }),
  )
  await home.rows('drop schema hookonce cascade')
  await other.rows('drop schema hookonce cascade')
  const ports = ['--port', '0', '--admin-port', '0', '--host', '127.0.0.1']
  const gateway = startCli(['serve', '--config', config, ...ports], {
    DATABASE_URL: home.url,
    OTHER_URL: proxy.url,
    SEEDED_SECRET: SIGNING_SECRET,
    HOOKONCE_ADMIN_TOKEN: ADMIN_TOKEN,
  })
  const { adminPort } = await gateway.line<{ adminPort: number }>('adminPort')
  const opened = await openPage('/', { dashboard: `http://127.0.0.1:${adminPort}` })
  const { page, faults } = opened
  const banner = page.getByText('The ledger hookonce_1 cannot be read.')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(await banner.count()).toBe(0)

  // Nobody touches the page: the stream notices it.
  proxy.refuse(true)
  await banner.waitFor()
  faults.expect(/^503: /)
  for (const name of ['Events', 'Failures', 'Attention', 'Rejections', 'Outbox', 'Sources', 'Settings']) {
    await page.getByRole('link', { name, exact: true }).click()
    await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor({ state: 'attached' })
    expect(await banner.isVisible(), name).toBe(true)
  }
  await screenshot(opened, 'ledger-missing')
  await page.reload()
  await banner.waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 844 })
  await page.emulateMedia({ colorScheme: 'dark' })
  await screenshot({ ...opened, width: 'mobile', theme: 'dark' }, 'ledger-missing')

  proxy.refuse(false)
  await banner.waitFor({ state: 'detached' })
})
