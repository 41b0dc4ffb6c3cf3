import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Delivery } from '../contract.ts'
import { type CustomOptions, custom } from '../index.ts'

function splitting(batch: NonNullable<CustomOptions['batch']>, more: Partial<CustomOptions> = {}) {
  const source = custom({
    secret: 's',
    signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
    batch,
    event: { key: 'item:id', type: 'json:kind' },
    ...more,
  })
  return (body: string | Uint8Array) => {
    const delivery: Delivery = {
      method: 'POST',
      url: '/',
      header: () => undefined,
      body: Buffer.from(body),
      receivedAtMs: 0,
    }
    const parts = source.split?.(delivery)
    if (parts === undefined || 'ok' in parts) return parts?.code
    return parts.map((part) => String(part.body))
  }
}

describe('a batch', () => {
  it('is split into one body per event, as if each event had been sent alone', () => {
    expect(splitting('json:[]')('[{"id":1}, {"id":2}]')).toEqual(['[{"id":1}]', '[{"id":2}]'])
    expect(splitting('json:events[]')('{"a":1,"events":[{"id":1},{"id":2}],"z":[3]}')).toEqual([
      '{"a":1,"events":[{"id":1}],"z":[3]}',
      '{"a":1,"events":[{"id":2}],"z":[3]}',
    ])
    expect(
      splitting('json:entry[].changes[]')(
        '{"entry":[{"id":"e1","changes":[1,2]},{"id":"e2","changes":[3]}]}',
      ),
    ).toEqual([
      '{"entry":[{"id":"e1","changes":[1]}]}',
      '{"entry":[{"id":"e1","changes":[2]}]}',
      '{"entry":[{"id":"e2","changes":[3]}]}',
    ])
  })

  it('may be in several arrays: each part keeps one event and empties the other arrays', () => {
    expect(splitting(['json:a[]', 'json:b[]'])('{"b":[1],"x":0,"a":[2,3]}')).toEqual([
      '{"b":[1],"x":0,"a":[]}',
      '{"b":[],"x":0,"a":[2]}',
      '{"b":[],"x":0,"a":[3]}',
    ])
  })

  it('treats a container without events as an event', () => {
    const split = splitting(['json:changes[].messages[]', 'json:changes[].statuses[]', 'json:changes[]'])
    expect(
      split('{"changes":[{"messages":[1,2],"statuses":[3]},{"field":"x"},{"messages":[],"statuses":[]}]}'),
    ).toEqual([
      '{"changes":[{"messages":[1],"statuses":[]}]}',
      '{"changes":[{"messages":[2],"statuses":[]}]}',
      '{"changes":[{"messages":[],"statuses":[3]}]}',
      '{"changes":[{"field":"x"}]}',
      '{"changes":[{"messages":[],"statuses":[]}]}',
    ])
  })

  it('may be an array in an object, or the whole body', () => {
    const split = splitting(['json:events[]', 'json:[]'])
    expect(split('{"events":[{"id":1},{"id":2}]}')).toEqual([
      '{"events":[{"id":1}]}',
      '{"events":[{"id":2}]}',
    ])
    expect(split('[{"id":1},{"id":2}]')).toEqual(['[{"id":1}]', '[{"id":2}]'])
  })

  it('may be lines, or a single event instead of an array', () => {
    expect(splitting('lines')('{"id":1}\n\n{"id":2}\r\n')).toEqual(['{"id":1}', '{"id":2}\r'])
    expect(splitting('lines')('[{"id":1},{"id":2}]')).toEqual(['[{"id":1}]', '[{"id":2}]'])
    expect(splitting('json:[]')('{"id":1}')).toEqual(['{"id":1}'])
  })

  it('may be JSON in a field of a form', () => {
    const split = splitting('json:[]', { body: { form: 'events' } })
    expect(split(new URLSearchParams({ events: '[{"id":"ä"},{"id":2}]' }).toString())).toEqual([
      'events=%5B%7B%22id%22%3A%22%C3%A4%22%7D%5D',
      'events=%5B%7B%22id%22%3A2%7D%5D',
    ])
  })

  it('keeps unknown elements, members and whole bodies', () => {
    const split = splitting(['json:entry[].changes[]', 'json:entry[].messaging[]'])
    expect(split('{"entry":[{"changes":[1]},{"new":2},3]}')).toEqual([
      '{"entry":[{"changes":[1]}]}',
      '{"entry":[{"new":2}]}',
      '{"entry":[3]}',
    ])
    expect(split('{"entry":[{"changes":[1],"messaging":{"odd":2}}]}')).toEqual([
      '{"entry":[{"changes":[1],"messaging":null}]}',
      '{"entry":[{"changes":[],"messaging":{"odd":2}}]}',
    ])
    for (const body of ['{"entry":[]}', '{"entry":{"changes":[1]}}', '{"hello":"world"}', '[1]'])
      expect(split(body)).toEqual([body])
    expect(splitting('lines')(' \n')).toBe('BODY_UNPARSABLE')
  })

  it('may be empty if the provider checks its URL with an empty batch', () => {
    const split = splitting('json:events[]', { emptyBatch: 'acknowledge' })
    expect(split('{"events":[]}')).toEqual([])
    for (const body of ['{"hello":"world"}', '{"events":null}', '{"events":{}}'])
      expect(split(body)).toEqual([body])
  })

  it('reads names and values as JSON.parse does', () => {
    expect(splitting('json:events[]')('{"events":[1],"\\u0065vents":["}]\\"",{"a":"["}]}')).toEqual([
      '{"events":[1],"\\u0065vents":["}]\\""]}',
      '{"events":[1],"\\u0065vents":[{"a":"["}]}',
    ])
  })

  it('skips values that are not events, at any depth', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    expect(splitting('json:events[]')(deep)).toEqual([deep])
    expect(splitting('json:events[]')(`{"other":${deep},"events":[{"id":1}]}`)).toHaveLength(1)
  })

  it('is rejected above its limits, or if it is not JSON', () => {
    expect(splitting('json:[]')(`[${Array(5_001).fill('{}').join(',')}]`)).toBe('BATCH_TOO_LARGE')
    const events = Array(1_000).fill('{}').join(',')
    expect(splitting('json:events[]')(`{"e":"${'x'.repeat(100_000)}","events":[${events}]}`)).toBe(
      'BATCH_TOO_LARGE',
    )
    expect(splitting('json:[]')('nonsense')).toBe('BODY_UNPARSABLE')
    expect(splitting('json:[]')(Buffer.from([0x5b, 0xff, 0x5d]))).toBe('BODY_UNPARSABLE')
  })

  it('keeps every event and its surroundings, for any JSON', () => {
    const split = splitting('json:events[]')
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.array(fc.jsonValue()),
        fc.constantFrom(undefined, 1, '\t'),
        (envelope, events, indent) => {
          const { events: _, ...around } = envelope
          const parts = split(JSON.stringify({ ...around, events }, null, indent))
          if (!Array.isArray(parts)) throw new Error(String(parts))
          expect(parts.map((part) => JSON.parse(part))).toEqual(
            JSON.parse(
              JSON.stringify(
                // If a body has no event, the whole body is one event.
                events.length === 0
                  ? [{ ...around, events }]
                  : events.map((event) => ({ ...around, events: [event] })),
              ),
            ),
          )
        },
      ),
    )
  })
})
