import { expect, test } from 'vitest'
import { ADMIN_TOKEN, adminApi } from '../../support/admin-api.ts'
import { cli } from '../../support/cli.ts'
import { configTo, destination, ENV } from '../../support/gateway.ts'

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
    firstEvent: expect.stringMatching(/^npx hookonce trigger stripe /),
    deliveryUrl: `http://127.0.0.1:${port}`,
    verifyCommand: expect.stringMatching(/^npx hookonce verify --source stripe --config /),
  })
})

test('the command for the first event works as it is shown, and names no source of another tenant', async () => {
  const { url } = await destination()
  const source = { provider: 'stripe', tenant: 'acme', secret: 'env:STRIPE_SECRET' }
  const { get, token } = await adminApi({ config: { ...configTo(url), sources: { 'acme/stripe': source } } })
  const { firstEvent } = (await get('/gateway')).json
  const [npx, hookonce, ...args] = firstEvent.split(' ')
  expect([npx, hookonce, args.slice(0, 2)]).toEqual(['npx', 'hookonce', ['trigger', 'acme/stripe']])
  const sent = await cli([...args, '--json'], ENV)
  expect([sent.stderr, sent.json()]).toMatchObject(['', [{ status: 202 }]])
  expect((await get('/events')).json.data).toMatchObject([{ tenant: 'acme', source: 'stripe' }])

  const other = await token({ name: 'other', role: 'viewer', tenant: 'other' })
  const seen = (await get('/gateway', { token: other })).json
  expect([seen.firstEvent, seen.verifyCommand]).toEqual([null, null])
})
