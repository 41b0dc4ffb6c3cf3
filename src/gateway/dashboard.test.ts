import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { dashboard } from './dashboard.ts'

const SCRIPT = 'export const a = 1\n'

/** A built dashboard, served under a mount path by a real server. */
async function served(mount = '') {
  const parent = mkdtempSync(join(tmpdir(), 'hookonce-dashboard-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  const folder = join(parent, 'dashboard')
  mkdirSync(join(folder, 'assets'), { recursive: true })
  writeFileSync(join(parent, 'secret.js'), 'secret')
  writeFileSync(join(folder, 'index.html'), '<head><base href="/"></head>')
  writeFileSync(join(folder, 'manifest.json'), '{}')
  writeFileSync(join(folder, 'assets/a-1.js'), SCRIPT)
  writeFileSync(join(folder, 'assets/a-1.js.gz'), gzipSync(SCRIPT))
  writeFileSync(join(folder, 'assets/a-1.js.br'), brotliCompressSync(SCRIPT))
  const page = dashboard({ mount, folder })
  const server = createServer((request, response) => {
    const isAnswered = page.answer(request, response, (request.url ?? '').slice(mount.length))
    if (!isAnswered) response.writeHead(418).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<Answer>((resolve, reject) => {
      const asking = request({ port, path: `${mount}${path}`, method, headers }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('end', () =>
          resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }),
        )
      })
      asking.on('error', reject).end()
    })
}

interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

test('every path of the page returns the page, with its mount path, under a strict policy', async () => {
  const get = await served('/ops&"tools')
  for (const path of ['/', '/events', '/events/0f3a91c2', '/settings']) {
    const { status, headers, body } = await get(path)
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ])
    expect(body.toString()).toContain('<base href="/ops&#38;&#34;tools/">')
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['content-security-policy']).not.toContain('unsafe')
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
  }
  for (const path of ['/nothing', '/events/a/b', '/index.html', '/manifest.json'])
    expect((await get(path)).status).toBe(418)
})

test('assets are cached forever, and compressed for clients that accept it', async () => {
  const get = await served()
  const plain = await get('/assets/a-1.js')
  expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.body.toString()).toBe(SCRIPT)
  const br = await get('/assets/a-1.js', { 'accept-encoding': 'gzip, deflate, br' })
  expect([br.headers['content-encoding'], brotliDecompressSync(br.body).toString()]).toEqual(['br', SCRIPT])
  const gzip = await get('/assets/a-1.js', { 'accept-encoding': 'gzip, br;q=0' })
  expect([gzip.headers['content-encoding'], gunzipSync(gzip.body).toString()]).toEqual(['gzip', SCRIPT])
  expect(new Set([plain, br, gzip].map(({ headers }) => headers.etag)).size).toBe(3)
})

test('a known page is not sent again, and HEAD sends no body', async () => {
  const get = await served()
  const first = await get('/')
  const again = await get('/', { 'if-none-match': `"other", W/${first.headers.etag}` })
  expect([again.status, again.body.length]).toEqual([304, 0])
  const head = await get('/', {}, 'HEAD')
  expect([head.status, head.headers['content-length'], head.body.length]).toEqual([
    200,
    String(first.body.length),
    0,
  ])
  const posted = await get('/', {}, 'POST')
  expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD'])
})

test('no path leads out of the folder, and an unknown asset is 404', async () => {
  const get = await served()
  const out = [
    '/../secret.js',
    '/assets/../../secret.js',
    '/assets/%2e%2e/%2e%2e/secret.js',
    '/assets/..\\..\\secret.js',
  ]
  for (const path of out) {
    const { status, body } = await get(path)
    expect([404, 418]).toContain(status)
    expect(body.toString()).not.toContain('secret')
  }
  expect((await get('/assets/gone-2.js')).status).toBe(404)
  expect((await get('/assets/a-1.js.br')).status).toBe(404)
})

test('without a build the page explains how to build it', async () => {
  const page = dashboard({ mount: '', folder: '/nowhere/at/all' })
  const server = createServer((request, response) => void page.answer(request, response, request.url ?? ''))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${port}/`)
  expect([response.status, await response.text()]).toEqual([
    404,
    'The dashboard is not built. Run: npm run build\n',
  ])
})
