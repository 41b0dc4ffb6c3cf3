import { describe, expect, it } from 'vitest'
import { arriving, everyProvider } from '../../../test/support/catalogue.ts'
import type { Delivery, Source } from '../../sources/contract.ts'
import { headerLines } from '../../sources/headers.ts'
import { sampleEvents, signableBody, signedSample } from '../../sources/sample-events.ts'
import { STAMP_HEADER } from '../../sources/schemes/event-key.ts'
import { isSignable } from '../../sources/signature.ts'
import { deliveredHeaders } from './delivered-headers.ts'

const NOW_MS = 1_700_000_000_000
const signable = (await everyProvider()).filter(({ description }) => isSignable(description.signature))

function identified(source: Source, delivery: Delivery) {
  const parts = source.split?.(delivery) ?? [delivery]
  if ('ok' in parts) throw new Error(parts.detail)
  const [first] = parts.map((part) => source.identify(part))
  if (!first?.ok) throw new Error(`${first?.code}: ${first?.detail}`)
  // The time is not compared: for some providers it is the time of the signature.
  return { key: first.key, type: first.type, objectId: first.objectId }
}

/** The stored headers and body of an event are enough to deliver the same event, signed anew. */
describe.each(signable)('$id', ({ make, options }) => {
  it('is the same event when its stored delivery is sent again', () => {
    const source = make(options)
    const [event] = sampleEvents(source, {}, 1)
    if (!event) throw new Error('no sample')
    const first = signedSample(source, event, {
      url: '/in/x',
      timestampMs: NOW_MS,
      headers: { [STAMP_HEADER]: 'stamp', 'user-agent': 'Sender/1', host: 'example.com' },
    })
    const stored = headerLines(Object.entries(first.headers).flat(), source)
    const headers = deliveredHeaders(stored)
    expect(Object.keys(headers)).not.toContain('host')
    const again = signedSample(
      source,
      { ...event, key: 'other' },
      {
        url: '/in/x',
        timestampMs: NOW_MS + 1_000,
        headers,
        edit: () => signableBody(source, first.body),
      },
    )
    expect(source.verify(arriving(again, NOW_MS + 1_000))).toMatchObject({ ok: true })
    expect(identified(source, arriving(again, NOW_MS + 1_000))).toEqual(
      identified(source, arriving(first, NOW_MS)),
    )
  })
})

it('leaves out signatures, times of signatures and headers of the connection', () => {
  const lines = [
    'Host: a.example',
    'Content-Type: application/json; charset=utf-8',
    'X-Hub-Signature-256: sha256=ab',
    'X-Slack-Request-Timestamp: 1',
    'X-Forwarded-For: 10.0.0.1',
    'Sec-Fetch-Mode: cors',
    'X-GitHub-Event: push',
    'X-User: [redacted]',
    'X-Shop: a',
    'X-Shop: b',
  ]
  expect(deliveredHeaders(`${lines.join('\n')}\n`)).toEqual({ 'x-github-event': 'push', 'x-shop': 'a, b' })
})
