import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type FoundPage, pageWithCursors, readCursor, sliceOf } from './cursor.ts'

const listQuery = { list: 'things', filter: { source: 'a', since: undefined } }

test('a cursor leads back to its place, for any position', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 100, unit: 'grapheme' }), (position) => {
      const { next, previous } = pageWithCursors({ data: [], next: position, previous: position }, listQuery)
      expect(readCursor(next ?? undefined, listQuery)).toEqual({ after: position })
      expect(readCursor(previous ?? undefined, listQuery)).toEqual({ before: position })
    }),
  )
})

test('neither another text nor a cursor of another list or filter is accepted', () => {
  const { next } = pageWithCursors({ data: [], next: '5:five' }, listQuery)
  const cursor = next ?? ''
  const others = [
    { ...listQuery, list: 'others' },
    { ...listQuery, filter: { source: 'b' } },
  ]
  for (const other of others) expect(() => readCursor(cursor, other)).toThrow('CURSOR_INVALID')
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), (text) => {
      expect(() => readCursor(text, listQuery)).toThrow('CURSOR_INVALID')
    }),
  )
})

test('pages of a whole list go forward and back, even if the item at the cursor was deleted', () => {
  const items = ['g', 'c', 'a', 'f', 'b', 'e', 'd']
  const page = (place: { after?: string; before?: string }, from = items): FoundPage<string> =>
    sliceOf({ items: from, keyOf: (item) => item, limit: 3 }, place)
  const first = page({})
  expect(first).toMatchObject({ data: ['g', 'c', 'a'], previous: undefined })
  const second = page({ after: first.next ?? '' })
  const third = page({ after: second.next ?? '' })
  expect([second.data, third.data, third.next]).toEqual([['f', 'b', 'e'], ['d'], undefined])
  expect(page({ before: third.previous ?? '' }).data).toEqual(second.data)
  expect(page({ before: second.previous ?? '' })).toEqual(first)
  const gone = items.filter((item) => item !== 'a')
  expect(page({ after: first.next ?? '' }, gone).data).toEqual(['f', 'b', 'e'])
})
