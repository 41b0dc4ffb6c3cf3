import { expect, test } from 'vitest'
import { outcomeOf } from './outcome.ts'

const answer = { status: 500, headers: {}, quote: '{"email":"ann@example.com"}' }

test('a failure quotes the response, unless errors must not repeat the request', () => {
  expect(outcomeOf(answer)).toMatchObject({ reason: 'answered 500: {"email":"ann@example.com"}' })
  expect(outcomeOf(answer, false)).toMatchObject({ kind: 'failed', reason: 'answered 500' })
})
