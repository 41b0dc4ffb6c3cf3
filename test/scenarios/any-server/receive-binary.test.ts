import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import * as binary from '../../../src/ledger/driver/binary.ts'
import { bytesOf } from '../../../src/ledger/driver/escaped-bytes.ts'
import { freshDatabase } from '../../support/database.ts'

/* Encoded values must arrive in a real server unchanged: the server defines the format. */

const RUNS = 60

async function echo(type: string): Promise<(parameter: Buffer) => Promise<unknown[]>> {
  const db = await freshDatabase()
  return async (parameter) => {
    const rows = await db.rows<{ values: unknown[] }>(`select $1::${type}[] as values`, [parameter])
    return rows[0]?.values ?? []
  }
}

async function holds<T>(
  type: string,
  element: fc.Arbitrary<T>,
  encode: (values: readonly T[]) => Buffer,
  meant: (value: T) => unknown = (value) => value,
): Promise<void> {
  const through = await echo(type)
  await fc.assert(
    fc.asyncProperty(fc.array(element, { maxLength: 20 }), async (values) => {
      expect(await through(encode(values))).toEqual(values.map(meant))
    }),
    { numRuns: RUNS, examples: [[[]]] },
  )
}

test('uuids arrive as they are', () => holds('uuid', fc.uuid(), binary.uuids))

test('smallints arrive as they are', () =>
  holds('smallint', fc.integer({ min: -32_768, max: 32_767 }), binary.smallints))

test('integers arrive as they are', () =>
  holds('integer', fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), binary.integers))

test('booleans arrive as they are', () => holds('boolean', fc.boolean(), binary.booleans))

test('timestamps arrive to the millisecond, before 2000 and before 1970 too, and undefined as null', () =>
  holds(
    'timestamptz',
    fc.option(
      fc.oneof(
        // Years before 1 would need a driver that reads them.
        fc.integer({ min: Date.UTC(1000, 0), max: Date.UTC(9999, 11) }),
        fc.constantFrom(0, -1, Date.UTC(1999, 11, 31, 23, 59, 59, 999), Date.UTC(2000, 0, 1)),
      ),
      { nil: undefined },
    ),
    binary.timestamps,
    (value) => (value === undefined ? null : new Date(value)),
  ))

test('bytes arrive as they are', () =>
  holds('bytea', fc.uint8Array({ maxLength: 300 }), binary.byteas, (value) => Buffer.from(value)))

test('a view into a larger buffer brings its own bytes only', async () => {
  const through = await echo('bytea')
  const view = Buffer.from('before|bytes|after').subarray(7, 12)
  expect(await through(binary.byteas([view, new Uint8Array()]))).toEqual([
    Buffer.from('bytes'),
    Buffer.alloc(0),
  ])
})

test('texts arrive as they are, undefined as null, NUL and half surrogates as U+FFFD', () =>
  holds(
    'text',
    fc.option(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 50 }),
        fc.constantFrom('', '\0', 'a\0b', '\ud800', 'x\udc00y', '🪝', 'NULL', '{"a",\\b}'),
      ),
      { nil: undefined },
    ),
    binary.texts,
    // A Buffer turns invalid characters into U+FFFD, as the encoder must.
    (value) => (value === undefined ? null : Buffer.from(value.replaceAll('\0', '\uFFFD')).toString()),
  ))

test('bodies of megabytes arrive as they are', async () => {
  const db = await freshDatabase()
  const bodies = [3, 0, 5].map((mib) => Buffer.alloc(mib * 1024 * 1024, `${mib} MiB of body `))
  const rows = await db.rows<{ sha: string }>(
    `select encode(sha256(body), 'hex') as sha from unnest($1::bytea[]) with ordinality b(body, n) order by n`,
    [binary.byteas(bodies)],
  )
  expect(rows.map((row) => row.sha)).toEqual(
    bodies.map((body) => createHash('sha256').update(body).digest('hex')),
  )
})

test('bytes come back from their escaped text as they are', async () => {
  const db = await freshDatabase()
  const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  const json = Buffer.from(JSON.stringify({ path: 'C:\\101', name: 'Zoë 🙂', quote: '"' }))
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      const found = await db.rows<{ text: string }>(`select encode($1, 'escape') as text`, [
        Buffer.from(bytes),
      ])
      expect(bytesOf(found[0]?.text ?? '')).toEqual(Buffer.from(bytes))
    }),
    { numRuns: RUNS, examples: [[new Uint8Array()], [everyByte], [json]] },
  )
})
