import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
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
  const answers = await recordDashboard(recorder.page, { dashboard, events: 1 })
  await recorder.page.goto('about:blank')
  await gateway.stop()
  const site = temporaryDirectory()
  writeDemo(join(site, 'demo'), { base: '/demo/', answers })

  const { page } = await openPage('/demo/', { dashboard: await filesAt(site), token: null })
  await page.getByText('A recording of hookonce, read-only').waitFor()
  await page.getByText('Needs you').waitFor()
  await page.getByRole('link', { name: 'Events' }).click()
  await isLoaded(page)
  await page.locator('a[href*="events/"]').first().click()
  await page.getByText('signature matches secret').first().waitFor()
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('.')
  await page.getByRole('link', { name: 'Attention' }).click()
  await isLoaded(page)
  const refused = await page.evaluate<number>(
    `fetch(new URL('api/v1/replays', document.baseURI), { method: 'POST' }).then(({ status }) => status)`,
  )
  expect(refused).toBe(403)
}, 120_000)
