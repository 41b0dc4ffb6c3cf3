import { expect, test } from 'vitest'
import type { Event } from '../../../src/model/event.ts'
import { sampleOf } from '../../../src/sources/sample.ts'
import { everyProvider } from '../../support/catalogue.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'

/*
 * A header that is itself the secret is verified and not stored, for every provider of the
 * catalogue.
 */

const every = await everyProvider()
const carrying = every.filter(({ description }) =>
  ['token', 'basic'].includes(description.signature.algorithm),
)
const IN_BODY = /^(?:json|item|form):/

test('no provider leaves its secret in the recorded headers, nor does any proxy that copies its URL', async () => {
  const db = await freshDatabase()
  const seen = new Map<string, Event>()
  const sources = Object.fromEntries(carrying.map(({ id, make, options }) => [id, make(options)]))
  const { hooks, listen } = receiving(db, { sources, handler: (event) => void seen.set(event.source, event) })
  const url = await listen()
  await hooks.start()
  for (const { id, make, description, options } of carrying) {
    const event = { key: 'evt_1', type: 'message', objectId: '1', occurredAtMs: Date.now() }
    const sent = make(options).deliver({ ...sampleOf(description, [event]), url: `/in/${id}` })
    const answer = await fetch(`${url}${sent.url}`, {
      method: 'POST',
      body: sent.body,
      headers: { ...sent.headers, 'x-original-uri': sent.url, 'x-kept': 'yes' },
    })
    expect([id, answer.ok]).toEqual([id, true])
  }
  await until('all are handled', () => seen.size === carrying.length)
  const rows = await db.rows<{ source: string; headers: string }>(
    'select source, headers from hookonce.receipt',
  )
  expect(rows).toHaveLength(carrying.length)
  for (const { source, headers } of rows) {
    const secret = String(carrying.find(({ id }) => id === source)?.options.secret)
    for (const recorded of [headers, JSON.stringify(seen.get(source)?.headers)]) {
      expect(recorded.toLowerCase()).toContain('x-kept')
      for (const text of [secret, Buffer.from(secret).toString('base64')])
        expect([source, recorded]).not.toEqual([source, expect.stringContaining(text)])
    }
  }
  // The other providers send it in the body, which is recorded unchanged.
  const inBody = carrying.filter(
    ({ description: { signature } }) => 'at' in signature && IN_BODY.test(signature.at ?? ''),
  )
  expect(inBody.map(({ id }) => id)).toEqual([
    'aircall',
    'figma',
    'kofi',
    'meraki',
    'microsoft-graph',
    'sharepoint',
  ])
})

test('secret headers that an earlier version recorded are neither shown nor passed to handlers', async () => {
  const db = await freshDatabase()
  const [gitlab] = carrying.filter(({ id }) => id === 'gitlab')
  if (gitlab === undefined) throw new Error('gitlab is not in the catalogue')
  const events: Event[] = []
  const { hooks, post } = receiving(db, {
    sources: { gitlab: gitlab.make(gitlab.options) },
    handler: (event) => void events.push(event),
  })
  const secret = String(gitlab.options.secret)
  const headers = { 'x-gitlab-token': secret, 'idempotency-key': 'k-1' }
  expect((await post({ method: 'POST', body: '{"object_kind":"push"}', headers }, '/in/gitlab')).status).toBe(
    202,
  )
  const [receipt] = await db.rows<{ id: string }>(`update hookonce.receipt set headers = $1 returning id`, [
    `X-Gitlab-Token: ${secret}\nidempotency-key: k-1\n`,
  ])
  const shown = await cli(['show', String(receipt?.id), '--json'], { DATABASE_URL: db.url })
  expect(shown.code).toBe(0)
  expect(shown.stdout).toContain('idempotency-key: k-1')
  expect(shown.stdout).not.toContain(secret)
  await hooks.start()
  await until('it is handled', () => events.length === 1)
  expect(events[0]?.headers).toEqual({ 'idempotency-key': 'k-1' })
})
