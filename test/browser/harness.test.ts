import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { listening } from '../support/listening-server.ts'
import { accessibilityFaults } from './support/accessibility.ts'
import { openPage } from './support/open-page.ts'

/* The tests of the dashboard rely on this: a fault of a page fails its test. */

const PAGES: Record<string, string> = {
  '/': '<!doctype html><html lang="en"><title>A page</title><main><h1>A page</h1></main></html>',
  '/bad': `<!doctype html><html lang="en"><title>A page</title>
    <script src="/bad.js"></script><script>inline()</script><img src="http://elsewhere.example/x.png">
    <main><h1>A page</h1><img src="/missing.png"><input></main></html>`,
}

const SCRIPT = `console.error('a word'); setTimeout(() => { throw new Error('a surprise') })`

async function pages(): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    response.setHeader('content-security-policy', "default-src 'self'")
    if (url === '/bad.js') return response.setHeader('content-type', 'text/javascript').end(SCRIPT)
    const page = PAGES[url] ?? (url === '/favicon.ico' ? '' : undefined)
    if (page === undefined) return response.writeHead(404).end()
    return response.setHeader('content-type', 'text/html').end(page)
  })
  return listening(server)
}

test('each fault of a page is found', async () => {
  const dashboard = await pages()
  const { faults, go } = await openPage('/', { dashboard, token: null })
  expect(faults.found).toEqual([])

  await go('/bad')
  await expect
    .poll(() => faults.found.join('\n'))
    .toMatch(/console: a word[\s\S]*exception: Error: a surprise/)
  const found = faults.found.join('\n')
  expect(found).toMatch(/console: .*inline script violates.*Content Security Policy/s)
  expect(found).toContain(`404: GET ${dashboard}/missing.png`)
  expect(found).toMatch(/another host: http:\/\/elsewhere|loading the image 'http:\/\/elsewhere/i)
  faults.forget()
})

test('axe reads pages with a strict policy', async () => {
  const { page, faults, go } = await openPage('/', { dashboard: await pages(), token: null })
  expect(await accessibilityFaults(page)).toEqual([])
  await go('/bad')
  expect(await accessibilityFaults(page)).toContainEqual(expect.stringMatching(/^label: .*input/))
  await expect.poll(() => faults.found.length).toBeGreaterThan(3)
  faults.forget()
})
