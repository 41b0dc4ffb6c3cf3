import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { collectGarbage } from '../../test/support/collect-garbage.ts'
import { effectFetch } from './fetch.ts'
import type { HandlerRun } from './run.ts'

/** A service that accepts requests and never answers. */
async function silentService(): Promise<{ url: string; called: Promise<void> }> {
  let onCall = (): void => undefined
  const called = new Promise<void>((resolve) => {
    onCall = resolve
  })
  const server = createServer(() => onCall()).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise((resolve) => server.once('listening', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mail`, called }
}

function runWith(signal: AbortSignal): HandlerRun {
  return { interruption: { signal }, requireHeld: () => undefined } as unknown as HandlerRun
}

/* Node drops signals that only a Request or AbortSignal.any() refers to. */

test('a call without a reply ends at its timeout, also after a garbage collection', async () => {
  collectGarbage()
  const { url } = await silentService()
  const fetch = effectFetch(runWith(new AbortController().signal), 'k')
  await expect(fetch(url, { method: 'POST', timeoutMs: 200 })).rejects.toMatchObject({
    code: 'REPLY_LOST',
    message: expect.stringContaining('no reply within 200 ms'),
  })
})

test('a call ends when its run is interrupted, also after a garbage collection', async () => {
  collectGarbage()
  const { url, called } = await silentService()
  const interruption = new AbortController()
  const fetch = effectFetch(runWith(interruption.signal), 'k')
  const calling = expect(fetch(url, { method: 'POST' })).rejects.toMatchObject({ code: 'REPLY_LOST' })
  await called
  setTimeout(() => interruption.abort(new Error('the lease is lost')), 100)
  await calling
})

test('a call ends with a signal of its caller, also after a garbage collection', async () => {
  collectGarbage()
  const { url } = await silentService()
  const fetch = effectFetch(runWith(new AbortController().signal), 'k')
  const calling = fetch(url, { method: 'POST', signal: AbortSignal.timeout(200) })
  await expect(calling).rejects.toMatchObject({ code: 'REPLY_LOST' })
})
