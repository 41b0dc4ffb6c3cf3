import { effect, signal } from '@preact/signals'
import type { StreamedChange } from 'hookonce/client'
import { client, isAborted, isOffline, session } from '../api.ts'

/*
 * Notifies lists of changes. One stream serves all lists of the page. After a notification, a list
 * reads its newest page again, so a lost notification loses no data. If no stream is possible,
 * lists are notified every few seconds.
 */

export type LiveState = 'off' | 'connecting' | 'streaming' | 'polling' | 'paused'

export const liveState = signal<LiveState>('off')
export const isPaused = signal(false)

const POLL_EVERY_MS = 5_000
/** The stream is tried again after this many polls. */
const POLLS_BEFORE_STREAM = 12
const FAILURES_BEFORE_POLLING = 2
const RETRY_MS = 1_000
/** The server begins a stream with a block. A proxy that buffers the stream holds it back. */
const FIRST_BLOCK_MS = 5_000
/** The server sends a block every 15 seconds: two of them are missing. */
const NEXT_BLOCK_MS = 40_000

type Listener = (changes: readonly StreamedChange[]) => void
const listeners = new Set<Listener>()
const SKIPPED: StreamedChange = { type: 'skipped', tenant: undefined, at: '' }

/** Calls `listener` with each batch of changes. Returns a function that unsubscribes. */
export function onChange(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function startLive(): void {
  const isVisible = signal(document.visibilityState === 'visible')
  document.addEventListener('visibilitychange', () => {
    isVisible.value = document.visibilityState === 'visible'
  })
  let wasOffline = false
  effect(() => {
    // Covers changes during the time in which the gateway could not be reached.
    if (wasOffline && !isOffline.value) queueMicrotask(() => ring([SKIPPED]))
    wasOffline = isOffline.value
  })
  let running: AbortController | undefined
  effect(() => {
    const isWanted = Boolean(session.value) && isVisible.value && !isPaused.value
    if (!isWanted) {
      running?.abort()
      running = undefined
      liveState.value = isPaused.value ? 'paused' : 'off'
    } else if (!running) {
      running = new AbortController()
      void follow(running.signal)
    }
  })
}

/** True until the first stream opens. A pause or a hidden window does not reset it. */
let isFirst = true

async function follow(stop: AbortSignal): Promise<void> {
  let failures = 0
  while (!stop.aborted) {
    if (failures < FAILURES_BEFORE_POLLING) liveState.value = 'connecting'
    let isOpen = false
    try {
      await readStream(stop, () => {
        isOpen = true
        failures = 0
        liveState.value = 'streaming'
        // Covers changes during the time without a stream.
        if (!isFirst) ring([SKIPPED])
        isFirst = false
      })
    } catch (error) {
      if (stop.aborted || isAborted(error)) return
      // A proxy that holds back the first block would hold back that of the next stream too.
      failures += error instanceof SilentStream && !isOpen ? FAILURES_BEFORE_POLLING : 1
    }
    if (failures < FAILURES_BEFORE_POLLING) await pause(failures === 0 ? 0 : RETRY_MS, stop)
    else await poll(stop)
  }
}

async function poll(stop: AbortSignal): Promise<void> {
  liveState.value = 'polling'
  for (let count = 0; count < POLLS_BEFORE_STREAM && !stop.aborted; count += 1) {
    ring([SKIPPED])
    await pause(POLL_EVERY_MS, stop)
  }
}

/** Nothing arrives on the stream, not even the blocks that show that it is open. */
class SilentStream extends Error {}

/**
 * Reads until the server ends the stream, which it does every five minutes. `onOpen` is called at
 * the first block.
 */
async function readStream(stop: AbortSignal, onOpen: () => void): Promise<void> {
  const silent = new AbortController()
  let timer = setTimeout(() => silent.abort(), FIRST_BLOCK_MS)
  try {
    const response = await client.get('/stream', { signal: AbortSignal.any([stop, silent.signal]) })
    let isFirstBlock = true
    for await (const blocks of blocksOf(response)) {
      clearTimeout(timer)
      timer = setTimeout(() => silent.abort(), NEXT_BLOCK_MS)
      if (isFirstBlock) onOpen()
      isFirstBlock = false
      ring(blocks.flatMap(changeIn))
    }
  } catch (error) {
    if (silent.signal.aborted && !stop.aborted) throw new SilentStream()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** The blocks of a stream of server-sent events, as they arrive. */
async function* blocksOf(response: Response): AsyncGenerator<readonly string[]> {
  const reader = response.body?.getReader()
  if (!reader) throw new Error('the stream is empty')
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    if (blocks.length > 0) yield blocks
  }
}

function changeIn(block: string): StreamedChange[] {
  const data = /^data: (.*)$/m.exec(block)?.[1]
  const change = data === undefined ? undefined : JSON.parse(data)
  return change === undefined || change.type === 'open' ? [] : [change]
}

function ring(changes: readonly StreamedChange[]): void {
  if (changes.length > 0) for (const listener of listeners) listener(changes)
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    stop.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
