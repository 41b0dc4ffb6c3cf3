import { describe, expect, test } from 'vitest'
import { check } from '../../input/checked.ts'
import { fingerprint, fingerprintSchema, refingerprint } from './fingerprint.ts'
import type { KeyedRequest } from './message.ts'

const recipe = (options: object = {}) => check(fingerprintSchema, options, 'fingerprint')

function request(
  more: Partial<Omit<KeyedRequest, 'header' | 'body'>> & {
    type?: string
    body?: string
    headers?: Record<string, string>
  } = {},
): KeyedRequest {
  const { type = 'application/json', body = '{"a":1,"b":2}', headers = {}, ...rest } = more
  return {
    method: 'POST',
    target: '/orders',
    keyHeaders: [],
    header: (name) => ({ 'content-type': type, ...headers })[name],
    body: Buffer.from(body),
    ...rest,
  }
}

const same = (a: KeyedRequest, b: KeyedRequest, options: object = {}): boolean =>
  fingerprint(a, recipe(options)) === fingerprint(b, recipe(options))

describe('by default the bytes count', () => {
  test.each([
    ['another body', request({ body: '{"b":2,"a":1}' })],
    ['another method', request({ method: 'PATCH' })],
    ['another path', request({ target: '/refunds' })],
    ['another query', request({ target: '/orders?dry=1' })],
    ['another media type', request({ type: 'text/plain' })],
  ])('%s is another request', (_, other) => {
    expect(same(request(), other)).toBe(false)
  })

  test('parameters of the media type and undeclared headers do not', () => {
    expect(same(request(), request({ type: 'Application/JSON; charset=utf-8' }))).toBe(true)
    expect(same(request(), request({ headers: { 'x-trace': '1' } }))).toBe(true)
  })
})

test('parts are prefixed by their length: what moves from one to the next is seen', () => {
  expect(same(request({ target: '/a', type: 'b/c' }), request({ target: '/ab', type: '/c' }))).toBe(false)
})

test('declared headers count', () => {
  const options = { headers: ['API-Version'] }
  expect(
    same(request({ headers: { 'api-version': '1' } }), request({ headers: { 'api-version': '2' } }), options),
  ).toBe(false)
})

test('canonical JSON: the order of members and spaces do not count, values do', () => {
  const options = { json: 'canonical' }
  expect(same(request(), request({ body: ' { "b": 2.0, "a": 1 }' }), options)).toBe(true)
  expect(same(request(), request({ body: '{"a":1,"b":"2"}' }), options)).toBe(false)
  expect(same(request({ body: 'not json' }), request({ body: 'not  json' }), options)).toBe(false)
})

test('selected fields: the others do not count', () => {
  const options = { fields: ['order.id', 'amount'] }
  const body = (id: string, at: number) => request({ body: JSON.stringify({ order: { id, at }, amount: 5 }) })
  expect(same(body('o1', 1), body('o1', 2), options)).toBe(true)
  expect(same(body('o1', 1), body('o2', 1), options)).toBe(false)
})

test('multipart: the boundary does not count, names and contents do', () => {
  const form = (boundary: string, content: string) =>
    request({
      type: `multipart/form-data; boundary=${boundary}`,
      body: `--${boundary}\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n${content}\r\n--${boundary}--\r\n`,
    })
  expect(same(form('aaa', 'hello'), form('bbb', 'hello'))).toBe(true)
  expect(same(form('aaa', 'hello'), form('bbb', 'other'))).toBe(false)
})

test('a fingerprint of the recipe before is recognised after a change of the recipe', () => {
  const before = fingerprint(request(), recipe())
  const after = recipe({ json: 'canonical', previous: [{}] })
  expect(fingerprint(request(), after)).not.toBe(before)
  expect(refingerprint(request(), after, before)).toBe(before)
  expect(refingerprint(request({ body: '{}' }), after, before)).not.toBe(before)
  expect(refingerprint(request(), recipe({ json: 'canonical' }), before)).toBeUndefined()
})
