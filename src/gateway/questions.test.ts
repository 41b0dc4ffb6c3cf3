import type { Worker as Child } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { ask } from './questions.ts'

type Done = ((error: Error | null) => void) | undefined

/**
 * A process with the behaviour of node:cluster: the callback receives the error of a closed
 * channel, and without a callback the error is emitted.
 */
function child(send: (it: EventEmitter, id: string, done: Done) => void): Child {
  const it = new EventEmitter()
  const sending = (question: { id: string }, done: Done): void => send(it, question.id, done)
  return Object.assign(it, { send: sending }) as unknown as Child
}

function tell(done: Done, error: Error): void {
  if (!done) throw error
  done(error)
}

test('a process that had ended before the request gives no answer, and affects no other process', async () => {
  const gone = child((_, __, done) => tell(done, new Error('ERR_IPC_CHANNEL_CLOSED')))
  expect(await ask(gone, 'metrics')).toBeUndefined()
  expect(await ask(gone, 'ready')).toBeUndefined()
  expect(gone.listenerCount('message') + gone.listenerCount('exit')).toBe(0)
})

test.each(['exit', 'disconnect'])('a process that ends by %s before its answer gives none', async (event) => {
  const dying = child((it) => void setImmediate(() => it.emit(event)))
  expect(await ask(dying, 'metrics')).toBeUndefined()
})

test('the answer to another request is ignored', async () => {
  const busy = child((it, id) => {
    it.emit('message', { hookonce: 'reply', id: `${id}0`, answer: false })
    it.emit('message', { hookonce: 'reply', id, answer: true })
  })
  expect(await ask(busy, 'ready')).toBe(true)
})
