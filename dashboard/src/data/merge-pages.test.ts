import { expect, test } from 'vitest'
import { merged } from './merge-pages.ts'

const list = (text: string, next: string | null = 'older') => ({ items: [...text], next })
const page = (text: string, next: string | null = 'rest') => ({ data: [...text], next })
const keyOf = (item: string): string => item

test('new items come before the old ones, and items that left the page are dropped', () => {
  expect(merged(list('dcba'), page('fedc'), keyOf)).toEqual({ items: [...'fedcba'], next: 'older' })
  expect(merged(list('edcba'), page('fec'), keyOf)).toEqual({ items: [...'fecba'], next: 'older' })
})

test('an item that moved up from an older page is listed once', () => {
  expect(merged(list('fedcba'), page('bfe'), keyOf)).toEqual({ items: [...'bfedca'], next: 'older' })
})

test('a page that does not overlap the list replaces it', () => {
  expect(merged(list('cba'), page('zyx'), keyOf)).toEqual({ items: [...'zyx'], next: 'rest' })
})

test('a page that is the whole list replaces it', () => {
  expect(merged(list('cba'), page('c', null), keyOf)).toEqual({ items: ['c'], next: null })
  expect(merged(list('cba'), page('', null), keyOf)).toEqual({ items: [], next: null })
})

test('a page without a match, before a long history, changes nothing', () => {
  expect(merged(list('cba'), page(''), keyOf)).toEqual({ items: [...'cba'], next: 'older' })
  expect(merged(list('cba', null), page(''), keyOf)).toEqual({ items: [...'cba'], next: null })
})
