import { expect, test } from 'vitest'
import { HookonceError } from './errors.ts'
import { RetryAfter } from './handler-errors.ts'
import { loggedTextOfThrown, quoting, recordedStackOf, stackOfThrown, textOfThrown } from './thrown.ts'

test.each([
  [
    new HookonceError('FORWARD_FAILED', 'app answered 500: card 4242'),
    'HookonceError: FORWARD_FAILED: app answered 500: …',
  ],
  [new RetryAfter(1, 'app answered 429: card 4242'), 'RetryAfter: app answered 429: …'],
])('logs leave out what %s quotes, and its message keeps it', (error, logged) => {
  const marked = quoting(error, 'card 4242')
  expect(loggedTextOfThrown(marked)).toBe(logged)
  expect(textOfThrown(marked)).toContain('card 4242')
  expect(JSON.stringify(marked)).not.toContain('4242')
})

test('an error that quotes nothing is logged as it is', () => {
  expect(loggedTextOfThrown(quoting(new Error('closed'), ''))).toBe('Error: closed')
  expect(loggedTextOfThrown('text')).toBe('thrown: text')
})

/** An error with the stack of a program in /app. */
function thrownAt(message: string, place: string, cause?: Error): Error {
  const stack = `Error: ${message}\n    at send (${place}:1:2)\n    at node:internal/process:9:9`
  return Object.assign(new Error(message, { cause }), { stack })
}

test('a recorded stack has the frames of the error and its causes, without the message', () => {
  const cause = thrownAt('the socket is closed', '/app/socket.js')
  const stack = recordedStackOf(thrownAt('no mail\n    at card (4242.ts:1:2)', 'file:///app/mail.js', cause))
  expect(stack?.split('\n')).toEqual([
    'at send (file:///app/mail.js:1:2)',
    'caused by Error: the socket is closed',
    'at send (/app/socket.js:1:2)',
  ])
})

test('an error of hookonce itself has no recorded stack', () => {
  const ours = thrownAt('x', `${import.meta.dirname}/a.js`)
  expect(stackOfThrown(ours)).toHaveLength(1)
  expect(recordedStackOf(ours)).toBeUndefined()
})

test('a recorded stack is bounded, whatever was thrown', () => {
  const loop = new Error('x')
  loop.cause = loop
  loop.stack = `Error: x\n${'    at f (/app/a.js:1:2)\n'.repeat(5_000)}`
  expect(recordedStackOf(loop)?.length).toBe(8_000)
  const hostile = new Error('x')
  Object.defineProperty(hostile, 'stack', {
    get() {
      throw new Error('not for you')
    },
  })
  for (const thrown of [hostile, 'text', undefined, new Proxy({}, { getPrototypeOf: () => fail() })])
    expect(recordedStackOf(thrown)).toBeUndefined()
})

function fail(): never {
  throw new Error('not for you')
}
