import { describe, expect, it } from 'vitest'
import type { Delivery, Identified, Source } from '../contract.ts'
import { attio, dropboxSign, grafana, patreon, persona, revolut, youtube } from '../index.ts'

/*
 * Deliveries that are one event, and deliveries that are two, for providers without a simple key.
 * The bodies are invented, in the documented shape.
 */

function arriving(body: string, headers: Record<string, string> = {}): Delivery {
  return {
    method: 'POST',
    url: '/',
    header: (name) => headers[name],
    body: Buffer.from(body),
    receivedAtMs: 1_700_000_000_000,
  }
}

function identified(source: Source, delivery: Delivery): Identified {
  const result = source.identify(delivery)
  if (!result.ok) throw new Error(result.detail)
  return result
}

function keysOf(source: Source, deliveries: readonly Delivery[]): string[] {
  return deliveries.flatMap((delivery) => {
    const events = source.split?.(delivery) ?? [delivery]
    if ('ok' in events) throw new Error(events.detail)
    return events.map((event) => identified(source, event).key)
  })
}

describe('YouTube', () => {
  const feed = (inner: string): string =>
    `<?xml version="1.0" encoding="UTF-8"?><feed xmlns:yt="http://www.youtube.com/xml/schemas/2015" xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0"><link rel="hub" href="https://pubsubhubbub.appspot.com"/>${inner}</feed>`
  const entry = (updated: string): string =>
    `<entry><id>yt:video:VID</id><yt:videoId>VID</yt:videoId><yt:channelId>CH</yt:channelId><title>Tea &amp; cake</title><published>2023-11-14T22:00:00+00:00</published><updated>${updated}</updated></entry>`

  it('names a video and its change', () => {
    const source = youtube({ secret: 's' })
    const first = arriving(feed(entry('2023-11-14T22:13:20.123456789+00:00')))
    expect(identified(source, first)).toMatchObject({
      type: 'entry',
      objectId: 'VID',
      occurredAtMs: 1_700_000_000_123,
      object: { title: 'Tea & cake' },
    })
    const again = arriving(feed(` ${entry('2023-11-14T22:13:20.123456789+00:00')}`))
    const later = arriving(feed(entry('2023-11-14T22:14:00+00:00')))
    const [one, same, two] = keysOf(source, [first, again, later])
    expect(same).toBe(one)
    expect(two).not.toBe(one)
  })

  it('names a deleted video', () => {
    const gone = feed('<at:deleted-entry ref="yt:video:VID" when="2023-11-14T22:13:20+00:00"/>')
    expect(identified(youtube({ secret: 's' }), arriving(gone))).toMatchObject({
      type: 'at:deleted-entry',
      objectId: 'yt:video:VID',
      occurredAtMs: 1_700_000_000_000,
    })
  })
})

it('Patreon: one body under two names is two events', () => {
  const body = '{"data":{"id":"m1"}}'
  const keys = keysOf(patreon({ secret: 's' }), [
    arriving(body, { 'x-patreon-event': 'members:update' }),
    arriving(body, { 'x-patreon-event': 'members:pledge:update' }),
    arriving(body, { 'x-patreon-event': 'members:update' }),
  ])
  expect(keys[1]).not.toBe(keys[0])
  expect(keys[2]).toBe(keys[0])
})

it('Grafana: a group that is sent again with one more alert has one new event', () => {
  const alert = (fingerprint: string, status = 'firing') => ({
    fingerprint,
    status,
    startsAt: '2023-11-14T22:13:20Z',
  })
  const group = (...alerts: object[]) => arriving(JSON.stringify({ groupKey: 'g', status: 'firing', alerts }))
  const keys = keysOf(grafana({ secret: 's' }), [
    group(alert('a')),
    group(alert('a'), alert('b')),
    group(alert('a', 'resolved')),
  ])
  expect(keys[1]).toBe(keys[0])
  expect(new Set(keys).size).toBe(3)
})

it('Attio: the events of one delivery have different keys, which are the same at a retry', () => {
  const event = (id: string) => ({ event_type: 'record.updated', id: { record_id: id } })
  const body = JSON.stringify({ webhook_id: 'w', events: [event('a'), event('b')] })
  const keys = keysOf(attio({ secret: 's' }), [
    arriving(body, { 'idempotency-key': 'one' }),
    arriving(body, { 'idempotency-key': 'one' }),
    arriving(body, { 'idempotency-key': 'two' }),
  ])
  expect(keys.slice(2, 4)).toEqual(keys.slice(0, 2))
  expect(new Set(keys).size).toBe(4)
})

it('Revolut: a transaction that changes twice is two events', () => {
  const change = (timestamp: string) =>
    arriving(JSON.stringify({ event: 'TransactionStateChanged', timestamp, data: { id: 't' } }))
  const keys = keysOf(revolut({ secret: 's' }), [
    change('2023-11-14T22:13:20Z'),
    change('2023-11-14T22:13:21Z'),
  ])
  expect(new Set(keys).size).toBe(2)
})

it('Dropbox Sign: two requests in one second have the same hash, but are two events', () => {
  const source = dropboxSign({ secret: 's' })
  const keys = ['a', 'b'].map((id) => {
    const payload = {
      event: { event_time: '1700000000', event_type: 'signature_request_sent' },
      signature_request: { signature_request_id: id },
    }
    const signed = source.deliver({
      body: new URLSearchParams({ json: JSON.stringify(payload) }).toString(),
    })
    const delivery = arriving(Buffer.from(signed.body).toString())
    expect(source.verify(delivery)).toMatchObject({ ok: true })
    return identified(source, delivery).key
  })
  expect(new Set(keys).size).toBe(2)
})

it('Persona: either secret of a rotation verifies', () => {
  const body = '{"data":{"id":"evt_1"}}'
  const header = ['wbhsec_new', 'wbhsec_old']
    .map((secret) => persona({ secret }).sign({ body, timestampMs: 1_700_000_000_000 })['persona-signature'])
    .join(' ')
  for (const secret of ['wbhsec_new', 'wbhsec_old'])
    expect(persona({ secret }).verify(arriving(body, { 'persona-signature': header })).ok).toBe(true)
})
