import { expect, test } from 'vitest'
import type { Delivery } from '../contract.ts'
import { formFields } from './form.ts'

const URLENCODED = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data; boundary=b'

function delivery(type: string, body: string): Delivery {
  return {
    method: 'POST',
    url: '/',
    header: (name) => (name === 'content-type' ? type : undefined),
    body: Buffer.from(body),
    receivedAtMs: 0,
  }
}

const part = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

test('both kinds of forms: the first field of each name is read, and files are ignored', () => {
  expect(formFields(delivery(URLENCODED, 'a=1&b=x%20y&a=2'))).toEqual({ a: '1', b: 'x y' })
  const file = '--b\r\nContent-Disposition: form-data; name="f"; filename="f.txt"\r\n\r\nbytes\r\n'
  const body = `${part('a', '1')}${file}${part('b', 'x\r\ny')}${part('a', '2')}--b--\r\n`
  expect(formFields(delivery(MULTIPART, body))).toEqual({ a: '1', b: 'x\r\ny' })
})

test('a body without a field is not a form', () => {
  for (const body of ['', '--b\r\n\r\n--b--', 'nothing of the kind'])
    expect(formFields(delivery(MULTIPART, body))).toBeUndefined()
})

/*
 * The sender is not verified yet. A careless parser needs hours for five megabytes of these bodies.
 * If parsing costs more than linear time again, this test times out.
 */
const FIVE_MB = 5 * 1024 * 1024
test.each([
  ['boundaries without parts', MULTIPART, '\r\n--b'],
  ['parts without names', MULTIPART, '\r\n--b\r\n\r\n'],
  ['parts with names', MULTIPART, part('a', '')],
  ['fields', URLENCODED, 'a=1&'],
  ['separators', URLENCODED, '&'],
])('five megabytes of %s are rejected as too much for a form', (_, type, unit) => {
  const body = unit.repeat(FIVE_MB / unit.length)
  expect(formFields(delivery(type, body))).toBeUndefined()
})

test('one part of five megabytes is read', () => {
  const value = 'x'.repeat(FIVE_MB)
  expect(formFields(delivery(MULTIPART, `${part('a', value)}--b--`))?.a?.length).toBe(FIVE_MB)
})
