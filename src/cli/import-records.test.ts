import { expect, test } from 'vitest'
import { importRecords } from './import-records.ts'

const fields = { key: 'key', type: 'type', time: 'occurredAt' }
type Format = 'keys' | 'jsonl' | 'csv'

async function read(format: Format, text: string, named = fields, chunkBytes = 3): Promise<unknown[]> {
  const bytes = Buffer.from(text)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
  }
  const found: unknown[] = []
  for await (const record of importRecords(chunks(), { format, fields: named })) found.push(record)
  return found
}

test('one key per line, with any line break, and without a last one', async () => {
  expect(await read('keys', '\ufeffevt_1\r\n\n  evt_ü \nevt_3')).toEqual([
    { key: 'evt_1' },
    { key: 'evt_ü' },
    { key: 'evt_3' },
  ])
})

test('objects, with a number as a key, and custom field names', async () => {
  const text = '{"id":7,"kind":"push","at":"2026-01-31T12:00:00Z"}\n{"id":"b"}\n'
  expect(await read('jsonl', text, { key: 'id', type: 'kind', time: 'at' })).toEqual([
    { key: '7', type: 'push', occurredAt: new Date('2026-01-31T12:00:00Z') },
    { key: 'b', type: undefined, occurredAt: undefined },
  ])
})

test('CSV with quotes, commas and line breaks inside cells, and empty cells', async () => {
  const text = 'note,key,type\r\n"a ""b"", c\nd",evt_1,push\n,evt_2,\n'
  expect(await read('csv', text)).toEqual([
    { key: 'evt_1', type: 'push', occurredAt: undefined },
    { key: 'evt_2', type: undefined, occurredAt: undefined },
  ])
})

test.each([
  [
    'csv',
    'id,type\nevt_1,push',
    /^CONFIG_INVALID: line 1: no column is named "key": there are id, type. Name it with --key/,
  ],
  ['csv', 'key\nevt_1\n"a\nb"x', /line 3: not a line of CSV/],
  ['csv', 'key\n"evt_1', /line 2: a quote is never closed/],
  ['csv', 'key\n"a\nb"\n""\n', /line 4: has no event key in "key"/],
  ['jsonl', '{"key":"a"}\nevt_2', /line 2: not a JSON object/],
  ['jsonl', '{"id":"a"}', /line 1: has no event key in "key". Name the field with --key/],
  ['jsonl', '{"key":"a","occurredAt":"yesterday"}', /line 1: "yesterday" is no time/],
  ['keys', `a\n${'x'.repeat(1_025)}`, /line 2: the key is longer than 1024 bytes/],
  ['keys', 'a\0b', /line 1: the key holds a NUL/],
] as const)('%s: the error names the unreadable line: %j', async (format, text, message) => {
  await expect(read(format, text)).rejects.toThrow(message)
})

test('a file of another kind does not fill the memory', async () => {
  await expect(read('keys', 'x'.repeat(2_000_000), fields, 65_536)).rejects.toThrow(/line 1: longer than/)
})
