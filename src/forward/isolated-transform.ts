import { Worker } from 'node:worker_threads'
import { HookonceError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { Permanent, RetryAfter } from '../model/handler-errors.ts'
import { textOfThrown, withRecordedStack } from '../model/thrown.ts'
import type { TransformPlace } from './load-transform.ts'
import type { DraftParts, RunTransform } from './transform.ts'
import type { FromThread, ThreadFailure } from './transform-messages.ts'

/*
 * Runs the transform of one destination in its own thread. A function that computes without a pause
 * would block the whole process: deliveries, leases and every other destination. A thread can be
 * stopped. It starts with the first event, and ends after a while without events.
 */

/** The interval of pings to a thread that has work. */
const PING_EVERY_MS = 1_000
/**
 * After this many unanswered pings in a row, the thread counts as blocked. A transform takes
 * milliseconds. Counting pings instead of seconds is safe if this thread itself was delayed.
 */
const MISSED_PINGS = 5
/** The module of a transform may import other modules and compile TypeScript. */
const MISSED_PINGS_AT_START = 30
const IDLE_MS = 60_000
/** Enough for many events of some megabytes. */
const MAX_HEAP_MB = 256
/**
 * The limit on calls that timed out but never ended. Beyond it the thread is restarted, which ends
 * them.
 */
const MAX_GIVEN_UP = 100

interface Call {
  readonly event: Event
  hasBegun: boolean
  isGivenUp: boolean
  readonly resolve: (parts: DraftParts | undefined) => void
  readonly reject: (error: Error) => void
}

interface Thread {
  readonly worker: Worker
  readonly calls: Map<number, Call>
  isReady: boolean
  missedPings: number
}

export function isolatedTransform(place: TransformPlace): RunTransform {
  let thread: Thread | undefined
  let lastId = 0
  let ping: NodeJS.Timeout | undefined
  let idle: NodeJS.Timeout | undefined

  function start(): Thread {
    const worker = new Worker(new URL('./transform-thread.js', import.meta.url), {
      workerData: place,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    })
    const started: Thread = { worker, calls: new Map(), isReady: false, missedPings: 0 }
    worker.on('message', (message: FromThread) => hear(started, message))
    worker.on('error', (error) => stop(started, `its thread ended: ${textOfThrown(error)}`))
    worker.on('exit', () => stop(started, 'its thread ended'))
    // The jobs keep the process alive, not this thread. This call must come after the listeners: a
    // listener for messages refs the thread again.
    worker.unref()
    return started
  }

  function send(to: Thread, call: Call): void {
    lastId += 1
    to.worker.postMessage({ id: lastId, event: sentOf(call.event) })
    to.calls.set(lastId, call)
    clearTimeout(idle)
    ping ??= setInterval(check, PING_EVERY_MS).unref()
  }

  function hear(from: Thread, message: FromThread): void {
    from.missedPings = 0
    if (message === 'pong') return
    if (message === 'ready') {
      from.isReady = true
      return
    }
    const call = from.calls.get(message.id)
    if (!call) return
    if ('began' in message) {
      call.hasBegun = true
      return
    }
    from.calls.delete(message.id)
    if ('failure' in message) call.reject(errorOf(message.failure))
    else call.resolve(message.parts)
    if (from.calls.size === 0) rest(from)
  }

  function check(): void {
    if (!thread) return
    const { worker, isReady, missedPings } = thread
    if (missedPings >= (isReady ? MISSED_PINGS : MISSED_PINGS_AT_START)) {
      const seconds = (missedPings * PING_EVERY_MS) / 1_000
      return stop(
        thread,
        `it computed for ${seconds} s without a pause, so it was stopped; check it for an endless loop`,
      )
    }
    thread.missedPings += 1
    worker.postMessage('ping')
  }

  /** Idle: the thread needs no pings, and ends after a while. */
  function rest(of: Thread): void {
    clearInterval(ping)
    ping = undefined
    clearTimeout(idle)
    idle = setTimeout(() => stop(of, 'it was idle'), IDLE_MS).unref()
  }

  /** Calls that have not begun did not block the thread: they move to a new thread. */
  function stop(stopped: Thread, why: string): void {
    if (thread !== stopped) return
    thread = undefined
    rest(stopped)
    clearTimeout(idle)
    void stopped.worker.terminate()
    const calls = [...stopped.calls.values()]
    const isToBlame = ({ hasBegun }: Call): boolean => hasBegun || !stopped.isReady
    for (const call of calls.filter(isToBlame)) call.reject(new HookonceError('TRANSFORM_FAILED', why))
    const others = calls.filter((call) => !isToBlame(call) && !call.isGivenUp)
    for (const call of others) {
      thread ??= start()
      send(thread, call)
    }
  }

  function giveUp(call: Call): void {
    call.isGivenUp = true
    const givenUp = [...(thread?.calls.values() ?? [])].filter(({ isGivenUp }) => isGivenUp)
    if (thread && givenUp.length > MAX_GIVEN_UP) stop(thread, 'too many of its calls did not end')
  }

  return async (event, signal) => {
    signal.throwIfAborted()
    let onAbort: (() => void) | undefined
    try {
      return await new Promise((resolve, reject) => {
        const call: Call = { event, hasBegun: false, isGivenUp: false, resolve, reject }
        onAbort = () => {
          reject(signal.reason)
          giveUp(call)
        }
        signal.addEventListener('abort', onAbort)
        thread ??= start()
        send(thread, call)
      })
    } finally {
      if (onAbort) signal.removeEventListener('abort', onAbort)
    }
  }
}

/** Copies the bytes, because a Buffer may be part of a larger one. */
function sentOf(event: Event): Event {
  return { ...event, body: Uint8Array.from(event.body), headers: { ...event.headers } }
}

function errorOf(failure: ThreadFailure): Error {
  return withRecordedStack(errorOfKind(failure), failure.stack)
}

function errorOfKind({ text, is, delayMs = 0 }: ThreadFailure): Error {
  if (is === 'permanent') return new Permanent(text)
  if (is === 'retry-after') return new RetryAfter(delayMs, text)
  return new HookonceError('TRANSFORM_FAILED', text)
}
