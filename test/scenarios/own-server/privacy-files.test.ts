import { expect, test } from 'vitest'
import type { Event } from '../../../src/index.ts'
import { forgetTenant } from '../../../src/operate/encryption.ts'
import { newKey, operatorLedger, REASON } from '../../support/encryption.ts'
import { jobsAre } from '../../support/jobs.ts'
import { type OwnServer, ownServer } from '../../support/own-server.ts'
import { filesWith } from '../../support/planted.ts'
import { receiving } from '../../support/receiver.ts'
import { signed, testSource } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/*
 * Searches every file of a server, with its write-ahead log, for values that were planted in bodies
 * and headers.
 */
const EMAIL = 'planted-3f9c@example.test'
const CARD = '4929-planted-7781'
const HEADER = 'planted-header-55e1'
const REFUSED = 'planted-refused-90aa'
const PLANTED = [EMAIL, CARD, HEADER, REFUSED]

const payload = (id: string, more: object = {}) => ({
  id,
  type: 'order.paid',
  customer: { email: EMAIL },
  items: [{ card: CARD }],
  ...more,
})

function planted(body: string, signature?: string): RequestInit {
  const { headers, ...request } = signed(body)
  return {
    ...request,
    headers: { ...headers, 'x-customer': HEADER, ...(signature && { 'test-signature': signature }) },
  }
}

/** Everything that hookonce does with a delivery, from its refusal to its replay. */
async function everything(server: OwnServer, options: object, redact: string[] = []): Promise<Event[]> {
  const { db } = server
  const seen: Event[] = []
  const waiting = receiving(db, { sources: { test: testSource({ redact }) }, options })
  const claimed = JSON.stringify(payload('evt_1'))
  await waiting.post(planted(claimed))
  await waiting.post(planted(claimed))
  // A mismatch, a large body, an unparseable body, and refused deliveries.
  await waiting.post(planted(JSON.stringify(payload('evt_1', { customer: { email: EMAIL }, other: CARD }))))
  await waiting.post(planted(JSON.stringify(payload('evt_2', { filler: 'x'.repeat(300_000) }))))
  const noKey = JSON.stringify({ type: 'order.paid', customer: { email: EMAIL }, items: [{ card: CARD }] })
  await waiting.post(planted(noKey))
  await waiting.post(planted(`{"id":"evt_3","broken":"${REFUSED}"`))
  await waiting.post(planted(JSON.stringify({ ...payload('evt_4'), email: REFUSED }), REFUSED))
  await waiting.stop()

  const { hooks, post } = receiving(db, {
    sources: { test: testSource({ redact }) },
    options: { ...options, pollMs: 20, retry: { baseDelayMs: 10, maxDelayMs: 10 } },
    handler(event, ctx) {
      if (ctx.attempt === 1) throw new Error('try again')
      seen.push(event)
    },
  })
  await hooks.start()
  await post(planted(JSON.stringify(payload('evt_5'))))
  await jobsAre(db, 'processed', 4)
  const [{ id = '' } = {}] = await db.rows<{ id: string }>(
    `select id from hookonce.receipt where event_key = 'evt_5'`,
  )
  await hooks.replay(id)
  await until('it is replayed', () => seen.length === 5)
  await jobsAre(db, 'processed', 4)
  await hooks.stop()
  await db.rows('checkpoint')
  return seen
}

const emailOf = (event: Event): unknown => (event.payload as ReturnType<typeof payload>).customer.email

test('the search finds values that are stored unencrypted', async () => {
  const server = await ownServer()
  const seen = await everything(server, {})
  expect(new Set(seen.map(emailOf))).toEqual(new Set([EMAIL]))
  for (const text of [EMAIL, CARD, HEADER]) {
    const files = filesWith(server.dir, [text])
    expect(files.some((file) => file.includes('/base/'))).toBe(true)
    expect(files.some((file) => file.includes('/pg_wal/'))).toBe(true)
  }
  // Nothing of a refused delivery is stored, encrypted or not.
  expect(filesWith(server.dir, [REFUSED])).toEqual([])
})

test('with encryption, no file holds a value of a body or header, and handlers get all of them', async () => {
  const server = await ownServer()
  const key = newKey()
  const seen = await everything(server, { encryption: { key } })
  expect(new Set(seen.map(emailOf))).toEqual(new Set([EMAIL]))
  expect(new Set(seen.map((event) => event.headers['x-customer']))).toEqual(new Set([HEADER]))
  expect(filesWith(server.dir, PLANTED)).toEqual([])
  expect(filesWith(server.dir, [key, Buffer.from(key, 'base64')])).toEqual([])
  // Event keys are stored in plain, so that repeats are recognised.
  expect(filesWith(server.dir, ['evt_5']).length).toBeGreaterThan(0)
  const forgotten = await forgetTenant(await operatorLedger(server.db, [key]), { tenant: 'default' }, REASON)
  expect(forgotten.tenant).toBe('default')
})

test('with redaction, no file holds a hidden value, and no run of a handler gets one', async () => {
  const server = await ownServer()
  const redact = ['$.customer.email', '$.items[*].card', '$.other', 'header:x-customer']
  const seen = await everything(server, {}, redact)
  expect(seen.map(emailOf)).toEqual(Array(5).fill('[redacted]'))
  expect(new Set(seen.map((event) => event.headers['x-customer']))).toEqual(new Set(['[redacted]']))
  expect(filesWith(server.dir, PLANTED)).toEqual([])
})
