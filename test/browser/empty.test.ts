import { expect, test } from 'vitest'
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
