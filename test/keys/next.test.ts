import { expect, test } from 'vitest'
import { startNextApp } from '../support/next-app.ts'

/** Installing Next.js takes its time, the first time. */
const LIMIT_MS = 300_000

test(
  'route handlers of Next.js: first reply, replay, another body, two tenants, a handler that throws',
  async () => {
    const url = await startNextApp()
    const post = (key: string, body: object, user = 'anna') =>
      fetch(`${url}/api/orders/berlin`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', 'idempotency-key': key, cookie: `user=${user}` },
      })

    const first = await post('one', { n: 1 })
    const second = await post('one', { n: 1 })
    expect([first.status, second.status]).toEqual([201, 201])
    const body = await first.text()
    expect(JSON.parse(body)).toEqual({
      order: { n: 1 },
      shop: 'berlin',
      path: '/api/orders/berlin',
      charge: 'ch_1',
      runs: 1,
    })
    expect(await second.text()).toBe(body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.headers.get('location')).toBe('/orders/7')
    expect([first, second].map(({ headers }) => headers.getSetCookie())).toEqual([['session=secret'], []])
    expect((await post('one', { n: 2 })).status).toBe(422)
    expect(await (await post('one', { n: 1 }, 'ben')).json()).toMatchObject({ runs: 2 })

    expect((await post('two', { fail: true })).status).toBe(500)
    const unknown = await post('two', { fail: true })
    expect([unknown.status, await unknown.json()]).toMatchObject([
      409,
      { type: 'urn:hookonce:problem:outcome-unknown' },
    ])
  },
  LIMIT_MS,
)
