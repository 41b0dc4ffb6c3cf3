import { expect, test } from 'vitest'
import { adminClient } from '../../client/index.ts'
import { type Bell, bells } from './bells.ts'

/** The notifications from a response that arrives in these pieces. */
async function ringsOf(pieces: readonly string[]): Promise<Bell[]> {
  const body = ReadableStream.from(pieces.map((piece) => new TextEncoder().encode(piece)))
  const headers = { 'content-type': 'text/event-stream' }
  const client = adminClient({
    baseUrl: 'http://gateway',
    fetch: async () => new Response(body, { headers }),
  })
  const rings: Bell[] = []
  for await (const bell of bells(client, 'http://gateway', new AbortController().signal)) rings.push(bell)
  return rings
}

const recorded = (at: string): string =>
  `id: 1-1\nevent: recorded\ndata: {"type":"recorded","at":"${at}"}\n\n`

test('it notifies for the opening, recorded and skipped events, also in pieces', async () => {
  const text = [
    'retry: 1000\nid: 1-0\ndata: {"type":"open"}\n\n',
    ': still here\n\n',
    'id: 1-2\nevent: job\ndata: {"type":"job","at":"2026-01-01T13:00:00.000Z"}\n\n',
    recorded('2026-01-01T12:00:02.000Z'),
    recorded('2026-01-01T12:00:01.000Z'),
  ].join('')
  const latest = new Date('2026-01-01T12:00:02.000Z')
  expect(await ringsOf([text])).toEqual([{ latest }])
  expect(await ringsOf([text.slice(0, 20), text.slice(20, 150), text.slice(150)])).toEqual([
    { latest: undefined },
    { latest },
  ])
  expect(await ringsOf([': still here\n\n', 'event: job\ndata: {}\n\n'])).toEqual([])
  // The time of a `skipped` change comes from another clock.
  const skipped = 'event: skipped\ndata: {"at":"2026-01-01T12:00:00.000Z"}\n\n'
  expect(await ringsOf([skipped])).toEqual([{ latest: undefined }])
})

test('a change without an end is not buffered without limit', async () => {
  await expect(ringsOf(['data: ', 'x'.repeat(1_500_000)])).rejects.toThrow('too long')
})
