import { expect, test } from 'vitest'
import { SIGNING_SECRET } from '../../scripts/seeding/gateway.mjs'
import { cli } from '../support/cli.ts'
import { accessibilityFaults } from './support/accessibility.ts'
import { isLoaded, openPage } from './support/open-page.ts'
import { screenshot } from './support/screenshot.ts'
import { smallLedger } from './support/small-ledger.ts'

/*
 * The view of a new user: each page describes its future content, and shows a command if there is
 * one.
 */

const EMPTY: readonly { readonly path: string; readonly says: string | RegExp }[] = [
  { path: '/', says: 'Nothing needs you' },
  { path: '/events', says: /No event/ },
  { path: '/failures', says: /Nothing (has )?failed|No (job|failure)/ },
  { path: '/attention', says: /Nothing|No / },
  { path: '/rejections', says: /Nothing|No / },
  { path: '/outbox', says: /Nothing|No / },
]

test('the command for the first event sends it to this gateway, whatever its port', async () => {
  const { dashboard } = await smallLedger({ receipts: 0 })
  const { page } = await openPage('/events', { dashboard })
  const command = await page.locator('.command code').textContent()
  expect(command).toMatch(
    /^npx hookonce trigger stripe customer.subscription.created --config \S+\/hookonce.json --url http:\S+\/in\/stripe$/,
  )
  const sent = await cli(command?.split(' ').slice(2) ?? [], { SEEDED_SECRET: SIGNING_SECRET })
  expect([sent.code, sent.stderr]).toEqual([0, ''])
  await page.getByRole('row').nth(1).getByText('stripe', { exact: true }).waitFor()
})

test('empty pages show the next step', async () => {
  const { dashboard } = await smallLedger({ receipts: 0 })
  const opened = await openPage('/', { dashboard })
  for (const { path, says } of EMPTY) {
    await opened.go(path)
    await opened.page.locator('main').getByText(says).first().waitFor()
    await isLoaded(opened.page)
    await screenshot(opened, `empty${path === '/' ? '-overview' : path.replaceAll('/', '-')}`)
    expect(await accessibilityFaults(opened.page)).toEqual([])
  }
})
