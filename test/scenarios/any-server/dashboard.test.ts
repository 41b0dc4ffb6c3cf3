import { expect, test } from 'vitest'
import { ADMIN_TOKEN, adminApi } from '../../support/admin-api.ts'

/* The built dashboard, as `hookonce serve` serves it. */

test('under a mount path the page and its files are found, and its data needs a token', async () => {
  const { adminPort, port } = await adminApi({ args: ['--admin-path', '/ops'] })
  const listener = `http://127.0.0.1:${adminPort}`
  const page = await fetch(`${listener}/ops/events`)
  const html = await page.text()
  expect([page.status, page.headers.get('content-security-policy')]).toEqual([
    200,
    expect.stringContaining("default-src 'none'; script-src 'self'; style-src 'self'"),
  ])
  expect(html).toContain('<base href="/ops/">')
  const addresses = [...html.matchAll(/(?:src|href)="(\.\/[^"]+)"/g)].map(([, address = '']) => address)
  expect(addresses.length).toBeGreaterThan(3)
  for (const address of addresses) {
    const file = await fetch(new URL(address, `${listener}/ops/`))
    expect([address, file.status]).toEqual([address, 200])
    if (address.startsWith('./assets/')) expect(file.headers.get('cache-control')).toContain('immutable')
  }
  const moved = await fetch(`${listener}/ops`, { redirect: 'manual' })
  expect([moved.status, moved.headers.get('location')]).toEqual([308, '/ops/'])
  expect((await fetch(`${listener}/`)).status).toBe(404)
  expect((await fetch(`${listener}/ops/assets/gone.js`)).status).toBe(404)

  expect((await fetch(`${listener}/ops/api/v1/gateway`)).status).toBe(401)
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const gateway = await fetch(`${listener}/ops/api/v1/gateway`, { headers })
  expect(await gateway.json()).toEqual({
    captures: false,
    firstEvent: null,
    deliveryUrl: `http://127.0.0.1:${port}`,
  })
})
