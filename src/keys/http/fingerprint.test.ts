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

describe('by default the bytes are compared', () => {
  test.each([
    ['another body', request({ body: '{"b":2,"a":1}' })],
    ['another method', request({ method: 'PATCH' })],
    ['another path', request({ target: '/refunds' })],
    ['another query', request({ target: '/orders?dry=1' })],
    ['another media type', request({ type: 'text/plain' })],
  ])('%s is another request', (_, other) => {
    expect(same(request(), other)).toBe(false)
  })

  test('media type parameters and undeclared headers are ignored', () => {
    expect(same(request(), request({ type: 'Application/JSON; charset=utf-8' }))).toBe(true)
    expect(same(request(), request({ headers: { 'x-trace': '1' } }))).toBe(true)
  })
})

test('parts are prefixed by their length, so bytes cannot move from one part to the next', () => {
  expect(same(request({ target: '/a', type: 'b/c' }), request({ target: '/ab', type: '/c' }))).toBe(false)
})

test('declared headers are compared', () => {
  const options = { headers: ['API-Version'] }
  expect(
    same(request({ headers: { 'api-version': '1' } }), request({ headers: { 'api-version': '2' } }), options),
  ).toBe(false)
})

test('canonical JSON: member order and whitespace are ignored, values are compared', () => {
  const options = { json: 'canonical' }
  expect(same(request(), request({ body: ' { "b": 2.0, "a": 1 }' }), options)).toBe(true)
  expect(same(request(), request({ body: '{"a":1,"b":"2"}' }), options)).toBe(false)
  expect(same(request({ body: 'not json' }), request({ body: 'not  json' }), options)).toBe(false)
})

test('selected fields: the others are ignored', () => {
  const options = { fields: ['order.id', 'amount'] }
  const body = (id: string, at: number) => request({ body: JSON.stringify({ order: { id, at }, amount: 5 }) })
  expect(same(body('o1', 1), body('o1', 2), options)).toBe(true)
  expect(same(body('o1', 1), body('o2', 1), options)).toBe(false)
})

test('multipart: the boundary is ignored, names and contents are compared', () => {
  const form = (boundary: string, content: string) =>
    request({
      type: `multipart/form-data; boundary=${boundary}`,
      body: `--${boundary}\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n${content}\r\n--${boundary}--\r\n`,
    })
  expect(same(form('aaa', 'hello'), form('bbb', 'hello'))).toBe(true)
  expect(same(form('aaa', 'hello'), form('bbb', 'other'))).toBe(false)
})

test('a fingerprint of the previous recipe is recognised after a recipe change', () => {
  const before = fingerprint(request(), recipe())
  const after = recipe({ json: 'canonical', previous: [{}] })
  expect(fingerprint(request(), after)).not.toBe(before)
  expect(refingerprint(request(), after, before)).toBe(before)
  expect(refingerprint(request({ body: '{}' }), after, before)).not.toBe(before)
  expect(refingerprint(request(), recipe({ json: 'canonical' }), before)).toBeUndefined()
})
