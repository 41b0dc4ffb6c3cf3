import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { recordDashboard, writeDemo } from '../../site/demo/recording.mjs'
import { temporaryDirectory } from '../support/cli.ts'
import { listening } from '../support/listening-server.ts'
import { isLoaded, openPage } from './support/open-page.ts'
import { smallLedger } from './support/small-ledger.ts'

const MEDIA: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/** A server that only serves files, like the server of the documentation site. */
function filesAt(folder: string): Promise<string> {
  const server = createServer((request, response) => {
    const path = join(folder, request.url?.endsWith('/') ? `${request.url}index.html` : (request.url ?? ''))
    if (!existsSync(path) || !statSync(path).isFile()) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': MEDIA[extname(path)] ?? 'text/plain' }).end(readFileSync(path))
  })
  return listening(server)
}

test('the demo of the site shows a recorded dashboard, without a gateway, and changes nothing', async () => {
  const { dashboard, gateway } = await smallLedger({ receipts: 120 })
  const recorder = await openPage('/', { dashboard })
  // More than one page of the list.
  const answers = await recordDashboard(recorder.page, { dashboard, events: 60 })
  const recorded = JSON.parse(answers['/events']?.body ?? '').data as { id: string; source: string }[]
  const receivedIn = (period: string): string =>
    JSON.parse(answers[`/stats?period=${period}`]?.body ?? '').totals.received.toLocaleString('en')
  await recorder.page.goto('about:blank')
  await gateway.stop()
  const site = temporaryDirectory()
  writeDemo(join(site, 'demo'), { base: '/demo/', answers })

  const { page } = await openPage('/demo/', { dashboard: await filesAt(site), token: null })
  const navigation = page.getByRole('navigation', { name: 'Pages' })
  const open = async (name: string): Promise<void> => {
    await navigation.getByRole('link', { name }).click()
    await isLoaded(page)
  }
  /** Nothing that was opened is missing in the recording. */
  const expectRecorded = async (): Promise<void> => {
    await isLoaded(page)
    expect(await page.locator('main [role=alert]').allTextContents()).toEqual([])
  }
  await page.getByText(`A recording of hookonce, read-only, with ${recorded.length} events`).waitFor()
  await page.getByText('Needs you').waitFor()
  await page.getByRole('button', { name: '7 d', exact: true }).click()
  const received = page.locator('dl div').filter({ hasText: 'Received' }).locator('dd b')
  await expect.poll(() => received.textContent()).toBe(receivedIn('7d'))
  await page.getByRole('button', { name: '1 h', exact: true }).click()
  await expect.poll(() => received.textContent()).toBe(receivedIn('1h'))
  expect(receivedIn('1h')).not.toBe(receivedIn('7d'))

  await open('Events')
  const ids = await everyRow(page)
  expect(ids.length).toBeGreaterThanOrEqual(60)
  expect(ids).toEqual(recorded.map(({ id }) => `row-${id}`))
  const search = page.getByRole('combobox', { name: 'Search events' })
  await search.fill('source:github since:90d')
  await search.press('Enter')
  const found = recorded.filter(({ source }) => source === 'github')
  await page.getByText(`These are all ${found.length}.`).waitFor()
  for (const row of await page.locator('[role=grid] [role=row][id]').allTextContents())
    expect(row).toContain('github')

  await page.locator('a[href*="events/"]').first().click()
  await page.getByText('signature matches secret').first().waitFor()
  await page.getByRole('tab', { name: 'Headers' }).click()
  await page.getByText('user-agent', { exact: false }).first().waitFor()

  await open('Failures')
  await page.locator('main .row .cover').first().click()
  await page.getByRole('link', { name: /^Show (all|the)/ }).click()
  await page.locator('[role=grid] [role=row][id]').first().getByText('failed').waitFor()
  for (const [name, tabs] of [
    ['Outbox', ['Failed', 'Waiting', 'Published']],
    ['Settings', ['Audit', 'Alerts', 'Workers']],
  ] as const) {
    await open(name)
    for (const tab of tabs) {
      await page.getByRole('tab', { name: new RegExp(`^${tab}`) }).click()
      await expectRecorded()
    }
  }
  for (const name of ['Attention', 'Rejections', 'Sources', 'Destinations', 'Captured']) {
    await open(name)
    await expectRecorded()
  }
  const refused = await page.evaluate<number>(
    `fetch(new URL('api/v1/replays', document.baseURI), { method: 'POST' }).then(({ status }) => status)`,
  )
  expect(refused).toBe(403)
}, 120_000)

/** Scrolls to the end of the list of events. Returns the ids of the rows that were shown. */
async function everyRow(page: Page): Promise<string[]> {
  await page.locator('[role=grid]').waitFor()
  const seen: string[] = []
  for (;;) {
    const shown = await page
      .locator('[role=grid] [role=row][id]')
      .evaluateAll((rows) => rows.map(({ id, ariaRowIndex }) => `${ariaRowIndex} ${id}`))
    for (const one of shown) if (!seen.includes(one)) seen.push(one)
    const isAtEnd = await page
      .locator('.virtual')
      .evaluate((list) => list.scrollTop + list.clientHeight >= list.scrollHeight - 1)
    if (isAtEnd && (await page.getByText('These are all').count()) > 0)
      return seen.map((one) => one.split(' ')[1] ?? '')
    await page.locator('.virtual').evaluate((list) => list.scrollBy(0, 300))
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  }
}
