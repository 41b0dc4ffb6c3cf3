import { parentPort, workerData } from 'node:worker_threads'
import { Permanent, RetryAfter } from '../model/handler-errors.ts'
import { recordedStackOf, textOfThrown } from '../model/thrown.ts'
import { loadTransform } from './load-transform.ts'
import { partsOf, type Transform } from './transform.ts'
import type { FromThread, ThreadFailure, ToThread } from './transform-messages.ts'

/*
 * The thread of one destination's transform. It answers pings while the transform does not block
 * it; isolated-transform.ts stops a blocked thread.
 */

const port = parentPort
if (!port) throw new Error('this module runs only as the thread of a transform')

const tell = (message: FromThread): void => port.postMessage(message)

const transform = await loadTransform(workerData)
port.on('message', (message: ToThread) => {
  if (message === 'ping') tell('pong')
  else void run(transform, message)
})
tell('ready')

async function run(transform: Transform, { id, event }: Exclude<ToThread, 'ping'>): Promise<void> {
  tell({ id, began: true })
  try {
    const parts = partsOf(await transform(event))
    // Copies the bytes, because a Buffer may be part of a larger one.
    tell({ id, parts: parts?.body ? { ...parts, body: Uint8Array.from(parts.body) } : parts })
  } catch (error) {
    tell({ id, failure: { ...failureOf(error), stack: recordedStackOf(error) } })
  }
}

/** The module may use another copy of hookonce, so classes are compared by name. */
function failureOf(error: unknown): ThreadFailure {
  const text = textOfThrown(error)
  if (!(error instanceof Error)) return { text }
  if (error instanceof Permanent || error.name === 'Permanent')
    return { text: error.message, is: 'permanent' }
  if (error instanceof RetryAfter || error.name === 'RetryAfter')
    return { text: error.message, is: 'retry-after', delayMs: Number(Reflect.get(error, 'delayMs')) }
  return { text }
}
