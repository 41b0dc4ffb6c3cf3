import { EventEmitter, once } from 'node:events'
import { pipeline, Readable } from 'node:stream'
import { pipeline as flow } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import { keyedServer } from '../support/idempotent-server.ts'
import { until } from '../support/until.ts'

/* Replies that are written over time, and their possible failures. */
const KEY = 'a1b2'

describe('a long reply', () => {
  const pieces = Array.from({ length: 60 }, (_, n) => Buffer.alloc(50_000, String(n % 10)))

  test('from a pipeline arrives whole, and the pipeline ends', async () => {
    const ended = new EventEmitter()
    const heard = once(ended, 'ended')
    const server = await keyedServer((_request, response) => {
      pipeline(Readable.from(pieces), response, (error) => ended.emit('ended', error))
    })
    const body = Buffer.from(await (await server.post(KEY)).arrayBuffer())
    expect(body.equals(Buffer.concat(pieces))).toBe(true)
    expect(await heard).toEqual([undefined])
  })

  test('whose client disconnects is written to its end', async () => {
    let written = 0
    const server = await keyedServer(async (_request, response) => {
      for (const piece of pieces) {
        if (!response.write(piece)) await once(response, 'drain')
        written++
      }
      response.end()
    })
    const abort = new AbortController()
    const first = await server.post(KEY, '1', { signal: abort.signal })
    await first.body?.getReader().read()
    abort.abort()
    await until('all of it is written', () => written === pieces.length)
    expect((await server.post(KEY, '1')).status).toBe(409)
    expect(server.runs()).toBe(1)
  })
})

describe('a reply that breaks off', () => {
  test('before any of it was sent: it failed, and its key is not held', async () => {
    const server = await keyedServer((_request, response) => {
      response.write('half')
      response.destroy(new Error('the file is gone'))
    })
    expect((await server.post(KEY)).status).toBe(500)
    expect(await (await server.post(KEY)).json()).toMatchObject({
      type: 'urn:hookonce:problem:outcome-unknown',
    })
  })

  test('because what is piped into it breaks: the same', async () => {
    const server = await keyedServer((_request, response) => {
      const source = new Readable({ read: () => undefined })
      source.on('error', () => undefined).pipe(response)
      source.push('half')
      setImmediate(() => source.destroy(new Error('the disk is gone')))
    })
    expect((await server.post(KEY)).status).toBe(500)
    expect((await server.post(KEY)).status).toBe(409)
  })

  test('in the middle of a long one: the client sees that it is incomplete', async () => {
    const server = await keyedServer((_request, response) => {
      response.write(Buffer.alloc(1_000_000))
      response.write('the rest')
      void until('some of it was kept', () => server.events.length > 0).then(() => response.destroy())
    })
    const first = await server.post(KEY)
    await expect(first.arrayBuffer()).rejects.toThrow()
    expect(await (await server.post(KEY)).json()).toMatchObject({
      type: 'urn:hookonce:problem:body-not-stored',
    })
  })
})

describe('a client that hangs up before the reply', () => {
  test('does not stop a pipeline, and gets the reply with its retry', async () => {
    const begun = new EventEmitter()
    const server = await keyedServer(async (_request, response) => {
      begun.emit('begun')
      await once(response.req.socket, 'close')
      await flow(Readable.from(['one ', 'two']), response)
    })
    const abort = new AbortController()
    const first = server.post(KEY, '1', { signal: abort.signal })
    await once(begun, 'begun')
    abort.abort()
    await expect(first).rejects.toThrow()
    await until('it is kept', () => server.events.some(({ what }) => what === 'ran'))
    const retry = await server.post(KEY, '1')
    expect([retry.status, await retry.text(), server.runs()]).toEqual([200, 'one two', 1])
  })

  test('is noticed at once if there is no key and none is required: nothing is stored', async () => {
    const heard = new EventEmitter()
    const closed = once(heard, 'close')
    const server = await keyedServer(
      (_request, response) => {
        response.on('close', () => heard.emit('close'))
        response.write('the first of many')
      },
      { required: 'off' },
    )
    const abort = new AbortController()
    const first = await server.post(undefined, '1', { signal: abort.signal })
    await first.body?.getReader().read()
    abort.abort()
    await closed
  })
})
