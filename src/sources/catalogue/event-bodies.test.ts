import { describe, expect, it } from 'vitest'
import type { Delivery } from '../contract.ts'
import {
  auth0,
  bitbucket,
  box,
  circleci,
  clickup,
  docusign,
  figma,
  gocardless,
  mailchimp,
  mollie,
  okta,
  paystack,
  pusher,
  quickbooks,
  razorpay,
  type SigningSource,
  segment,
  strapi,
  telegram,
  vercelLogDrains,
  whatsapp,
  xero,
  zendesk,
} from '../index.ts'

/*
 * Bodies as providers send them, for cases that a generated sample does not show.
 */

const secret = 'secret-of-sixteen-characters-and-more'
const AT = '2023-11-14T22:13:20Z'
const AT_MS = 1_700_000_000_000

function arriving(body: string, headers: Record<string, string> = {}): Delivery {
  return {
    method: 'POST',
    url: '/',
    header: (name) => headers[name],
    body: Buffer.from(body),
    receivedAtMs: AT_MS,
  }
}

/** The events of a delivery, as they would be recorded. */
function eventsOf(source: SigningSource, body: unknown, headers: Record<string, string> = {}) {
  const delivery = arriving(typeof body === 'string' ? body : JSON.stringify(body), headers)
  const single = source.split?.(delivery) ?? [delivery]
  if ('ok' in single) throw new Error(single.detail)
  return single.map((one) => {
    const event = source.identify(one)
    if (!event.ok) return event.code
    const { key, type, objectId, occurredAtMs, unread } = event
    return { key, type, objectId, occurredAtMs, unread }
  })
}

const keysOf = (...events: Parameters<typeof eventsOf>): unknown[] =>
  eventsOf(...events).map((event) => (typeof event === 'string' ? event : event.key))

describe('whatsapp', () => {
  const source = whatsapp({ secret, settings: { verifyToken: 'x' } })
  const metadata = { phone_number_id: '77' }
  const message = { id: 'wamid.1', timestamp: '1700000000', type: 'text' }
  const status = (value: string) => ({ id: 'wamid.2', status: value, timestamp: '1700000000' })
  const entry = (...values: object[]) => ({
    object: 'whatsapp_business_account',
    entry: [{ id: '1', changes: values.map((value) => ({ field: 'messages', value })) }],
  })

  it('makes one event per message and per status', () => {
    const events = eventsOf(
      source,
      entry({ metadata, messages: [message] }, { metadata, statuses: [status('sent'), status('read')] }),
    )
    expect(events).toMatchObject([
      { key: 'wamid.1', type: 'messages', objectId: 'wamid.1', occurredAtMs: AT_MS },
      { key: expect.stringMatching(/^[0-9a-f]{64}$/), type: 'messages.sent', objectId: 'wamid.2' },
      { type: 'messages.read' },
    ])
    expect(new Set(events.map((event) => typeof event === 'object' && event.key)).size).toBe(3)
  })

  it('recognises the same status in another batch', () => {
    const [sent] = keysOf(source, entry({ metadata, statuses: [status('sent')] }))
    expect(keysOf(source, entry({ messages: [message] }, { statuses: [status('sent')] }))).toContain(sent)
  })

  it('keeps a change that holds neither messages nor statuses', () => {
    const change = { field: 'account_update', value: { event: 'VERIFIED_ACCOUNT' } }
    expect(eventsOf(source, { entry: [{ id: '1', changes: [change] }] })).toMatchObject([
      { type: 'account_update', key: expect.any(String) },
    ])
  })
})

describe('quickbooks', () => {
  const source = quickbooks({ secret })

  it('accepts entities of several companies', () => {
    const entity = { name: 'Customer', id: '1', operation: 'Create', lastUpdated: AT }
    const company = (realmId: string) => ({ realmId, dataChangeEvent: { entities: [entity] } })
    const events = eventsOf(source, { eventNotifications: [company('1'), company('2')] })
    expect(events).toMatchObject([
      { type: 'Customer.Create', objectId: '1', occurredAtMs: AT_MS },
      { type: 'Customer.Create' },
    ])
    expect(new Set(keysOf(source, { eventNotifications: [company('1'), company('2')] })).size).toBe(2)
  })

  it('accepts CloudEvents, and records a body of any other shape unchanged', () => {
    const event = {
      specversion: '1.0',
      id: 'e1',
      source: 'intuit.1',
      type: 'qbo.customer.created.v1',
      time: AT,
    }
    expect(eventsOf(source, [event])).toMatchObject([{ type: event.type, occurredAtMs: AT_MS }])
    expect(eventsOf(source, [{ id: '1', name: 'Customer' }])).toMatchObject([
      { unread: { code: 'EVENT_KEY_MISSING' } },
    ])
  })
})

it('auth0 and vercel-log-drains accept arrays, lines and single records', () => {
  const record = (id: string) => ({ log_id: id, data: { type: 's', user_id: 'u', date: AT } })
  const [one, two] = [record('1'), record('2')]
  const stream = auth0({ secret })
  const expected = ['1', '2'].map((key) => ({ key, type: 's', objectId: 'u', occurredAtMs: AT_MS }))
  expect(eventsOf(stream, [one, two])).toEqual(expected)
  expect(eventsOf(stream, `${JSON.stringify(one)}\n${JSON.stringify(two)}\n`)).toEqual(expected)
  expect(eventsOf(stream, one)).toEqual(expected.slice(0, 1))
  const drain = vercelLogDrains({ secret, settings: { verify: 'x' } })
  const log = { id: 'l1', source: 'lambda', deploymentId: 'dpl_1', timestamp: AT_MS }
  for (const body of [[log], `${JSON.stringify(log)}\n`])
    expect(eventsOf(drain, body)).toEqual([
      { key: 'l1', type: 'lambda', objectId: 'dpl_1', occurredAtMs: AT_MS },
    ])
})

it('okta names each event of a delivery', () => {
  const event = (uuid: string) => ({ uuid, eventType: 'user.x', published: AT, target: [{ id: 't' }] })
  const body = { eventId: 'delivery', data: { events: [event('a'), event('b')] } }
  expect(eventsOf(okta({ secret }), body)).toMatchObject([
    { key: 'a', type: 'user.x', objectId: 't', occurredAtMs: AT_MS },
    { key: 'b' },
  ])
})

it('batches of xero, gocardless and pusher may be empty or hold several', () => {
  expect(eventsOf(xero({ secret }), { events: [] })).toEqual([])
  const links = { refund: 'RF1', payment: 'PM1' }
  const event = { id: 'EV1', resource_type: 'refunds', action: 'created', links, created_at: AT }
  expect(eventsOf(gocardless({ secret }), { events: [event] })).toEqual([
    { key: 'EV1', type: 'refunds.created', objectId: 'RF1', occurredAtMs: AT_MS },
  ])
  const vacated = { name: 'channel_vacated', channel: 'c' }
  const occupied = { name: 'channel_occupied', channel: 'c' }
  const batch = { time_ms: AT_MS, events: [vacated, occupied] }
  expect(eventsOf(pusher({ secret }), batch)).toMatchObject([
    { type: 'channel_vacated', objectId: 'c', occurredAtMs: AT_MS },
    { type: 'channel_occupied' },
  ])
  expect(new Set([...keysOf(pusher({ secret }), batch), ...keysOf(pusher({ secret }), batch)]).size).toBe(2)
})

it('zendesk distinguishes the body of an event from a custom body', () => {
  const source = zendesk({ secret })
  const headers = { 'x-zendesk-webhook-invocation-id': 'inv' }
  const event = { id: 'e', type: 'zen:event-type:ticket.created', time: AT, detail: { id: '35436' } }
  expect(eventsOf(source, event, headers)).toMatchObject([
    { key: expect.stringMatching(/^[0-9a-f]{64}$/), type: event.type, objectId: '35436' },
  ])
  // Two events of one ticket must not become one.
  expect(keysOf(source, { id: '35436' }, headers)).toEqual(['inv'])
})

describe('without an event id', () => {
  it('paystack: the key comes from event and object, or from the body', () => {
    const source = paystack({ secret })
    const charge = (status: string) => ({ event: 'charge.success', data: { id: 1, status } })
    expect(keysOf(source, charge('a'))).toEqual(keysOf(source, charge('b')))
    expect(keysOf(source, { event: 'x', data: {} })).not.toEqual(keysOf(source, { event: 'y', data: {} }))
  })

  it('figma and strapi: fields that some events lack are optional', () => {
    const ping = { passcode: secret, event_type: 'PING', webhook_id: '1', timestamp: AT }
    expect(eventsOf(figma({ secret }), ping)).toMatchObject([{ type: 'PING', occurredAtMs: AT_MS }])
    const media = { event: 'media.create', createdAt: AT, media: { id: 5 } }
    expect(eventsOf(strapi({ secret }), media)).toMatchObject([{ type: 'media.create', objectId: '5' }])
    expect(keysOf(strapi({ secret }), media)).not.toEqual(
      keysOf(strapi({ secret }), { ...media, media: { id: 6 } }),
    )
  })

  it('clickup: the key comes from the first history entry, or from the body', () => {
    const source = clickup({ secret })
    const changed = (id: string, task_id: string) => ({
      event: 'taskUpdated',
      webhook_id: 'w',
      task_id,
      history_items: [{ id, date: String(AT_MS) }],
    })
    expect(eventsOf(source, changed('1', 't'))).toMatchObject([{ objectId: 't', occurredAtMs: AT_MS }])
    expect(keysOf(source, changed('1', 't'))).toEqual(keysOf(source, changed('1', 'u')))
    expect(keysOf(source, { event: 'taskDeleted', webhook_id: 'w', task_id: 't' })).not.toContain(
      'EVENT_KEY_MISSING',
    )
  })

  it('mailchimp: the body is a form', () => {
    const body = 'type=subscribe&fired_at=2023-11-14+22%3A13%3A20&data%5Bid%5D=8a25&data%5Bemail%5D=a%40b.c'
    expect(eventsOf(mailchimp({ secret }), body)).toMatchObject([
      { type: 'subscribe', objectId: '8a25', occurredAtMs: AT_MS },
    ])
  })
})

it('the object of an event is the most specific one in the body', () => {
  const entity = (id: string) => ({ entity: { id } })
  const refund = { event: 'refund.created', payload: { payment: entity('pay_1'), refund: entity('rfnd_1') } }
  expect(eventsOf(razorpay({ secret }), refund, { 'x-razorpay-event-id': 'e' })).toMatchObject([
    { key: 'e', objectId: 'rfnd_1' },
  ])
  const job = { id: 'e', type: 'job-completed', job: { id: 'j' }, workflow: { id: 'w' } }
  expect(eventsOf(circleci({ secret }), job)).toMatchObject([{ objectId: 'j' }])
  const update = { update_id: 7, callback_query: { id: 'cb' } }
  expect(eventsOf(telegram({ secret }), update)).toMatchObject([
    { key: '7', type: 'callback_query', objectId: 'cb' },
  ])
  const headers = {
    'x-request-uuid': 'r',
    'x-event-key': 'repo:push',
    'x-event-time': 'Tue, 14 Nov 2023 22:13:20 GMT',
  }
  const push = { push: { changes: [{ new: { target: { hash: 'abc' } } }] }, repository: { uuid: '{1}' } }
  expect(eventsOf(bitbucket({ secret }), push, headers)).toEqual([
    { key: 'r', type: 'repo:push', objectId: 'abc', occurredAtMs: AT_MS },
  ])
})

describe('several signatures', () => {
  const body = '{"id":"1"}'
  const rotated = { secret: 'another-secret-of-the-same-sender' }

  it('may be in any of the headers', () => {
    const second = {
      'x-docusign-signature-1': 'A'.repeat(43),
      ...signedAs(docusign, 'x-docusign-signature-2'),
    }
    expect(docusign({ secret }).verify(arriving(body, second))).toMatchObject({ ok: true })
    const headers = box({ secret }).sign({ body, timestampMs: AT_MS })
    const { 'box-signature-primary': made = '', ...others } = headers
    const secondary = { ...others, 'box-signature-primary': 'A'.repeat(43), 'box-signature-secondary': made }
    expect(box({ secret }).verify(arriving(body, secondary))).toMatchObject({ ok: true })
    expect(box(rotated).verify(arriving(body, secondary))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
  })

  it('may be joined by a comma, as HTTP joins headers', () => {
    const [old = '', young = ''] = [mollie({ secret }), mollie(rotated)].map(
      (source) => source.sign({ body })['x-mollie-signature'],
    )
    const both = arriving(body, { 'x-mollie-signature': `${old}, ${young}` })
    expect(mollie({ secret }).verify(both)).toMatchObject({ ok: true })
    expect(mollie(rotated).verify(both)).toMatchObject({ ok: true })
  })

  function signedAs(make: typeof docusign, header: string): Record<string, string> {
    return { [header]: make({ secret }).sign({ body })['x-docusign-signature-1'] ?? '' }
  }
})

it('segment: a batch is rejected, because only its first event is signed', () => {
  const [first, second] = [{ messageId: '1' }, { messageId: '2' }]
  const headers = segment({ secret }).sign({ body: JSON.stringify(first) })
  const verify = (body: unknown) => segment({ secret }).verify(arriving(JSON.stringify(body), headers))
  expect(verify(first)).toMatchObject({ ok: true })
  expect(verify([first, second])).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
})
