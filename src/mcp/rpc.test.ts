import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { INVALID_PARAMS, RpcError, type RpcMethods, serveRpc } from './rpc.ts'

function client(methods: RpcMethods) {
  const input = new PassThrough()
  const output = new PassThrough()
  const stopping = new AbortController()
  const served = serveRpc({ input, output }, methods, stopping.signal)
  onTestFinished(() => stopping.abort())
  let text = ''
  output.on('data', (chunk) => {
    text += String(chunk)
  })
  return {
    served,
    input,
    stop: () => stopping.abort(),
    write: (line: unknown) =>
      input.write(typeof line === 'string' ? `${line}\n` : `${JSON.stringify(line)}\n`),
    /** All messages so far, once there are this many. */
    async messages(count: number) {
      while (text.split('\n').length <= count) await once(output, 'data')
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    },
  }
}

/** A promise, and the function that resolves it. */
function gate(): { readonly promise: Promise<void>; resolve(): void } {
  let open = (): void => undefined
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, resolve: () => open() }
}

const echo: RpcMethods = { echo: async (params) => params }

test('answers each request under its id, in any order', async () => {
  let letFirst = (): void => undefined
  const { write, messages } = client({
    slow: () => new Promise((resolve) => (letFirst = () => resolve('slow'))),
    quick: async () => 'quick',
  })
  write({ jsonrpc: '2.0', id: 1, method: 'slow' })
  write({ jsonrpc: '2.0', id: 'b', method: 'quick' })
  expect(await messages(1)).toEqual([{ jsonrpc: '2.0', id: 'b', result: 'quick' }])
  letFirst()
  expect((await messages(2))[1]).toEqual({ jsonrpc: '2.0', id: 1, result: 'slow' })
})

test('accepts lines that arrive in pieces, with split characters', async () => {
  const { input, messages } = client(echo)
  const bytes = Buffer.from(`${JSON.stringify({ id: 1, method: 'echo', params: 'zwölf €' })}\n`)
  for (const byte of bytes) input.write(Buffer.of(byte))
  expect(await messages(1)).toEqual([{ jsonrpc: '2.0', id: 1, result: 'zwölf €' }])
})

test.each([
  ['no JSON', '{', null, -32_700],
  ['a batch, which the protocol no longer has', '[]', null, -32_600],
  ['no method', '{"id":null}', null, -32_600],
  ['an unknown method', '{"id":1,"method":"nothing"}', 1, -32_601],
  ['a name of every object', '{"id":1,"method":"constructor"}', 1, -32_601],
  ['a line of two megabytes', JSON.stringify({ id: 1, method: 'x'.repeat(2 ** 21) }), null, -32_600],
])('%s gets an error, and the next request its answer', async (_, line, id, code) => {
  const { write, messages } = client(echo)
  write(line)
  write({ id: 2, method: 'echo', params: 'still here' })
  expect(await messages(2)).toEqual([
    { jsonrpc: '2.0', id, error: { code, message: expect.any(String) } },
    { jsonrpc: '2.0', id: 2, result: 'still here' },
  ])
})

test('notifications and responses are not answered', async () => {
  const { write, messages } = client(echo)
  write({ method: 'notifications/initialized' })
  write({ id: 7, result: {} })
  write('')
  write({ id: 1, method: 'echo', params: 1 })
  expect(await messages(1)).toEqual([{ jsonrpc: '2.0', id: 1, result: 1 }])
})

test('a cancelled call is aborted and not answered', async () => {
  const aborted = gate()
  const { write, messages } = client({
    ...echo,
    hang: (_, signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          aborted.resolve()
          reject(new Error('aborted'))
        }),
      ),
  })
  write({ id: 1, method: 'hang' })
  write({ method: 'notifications/cancelled', params: { requestId: 1 } })
  await aborted.promise
  write({ id: 2, method: 'echo', params: 2 })
  expect(await messages(1)).toEqual([{ jsonrpc: '2.0', id: 2, result: 2 }])
})

test('too many parallel calls are refused, and so is an id in use', async () => {
  const { write, messages } = client({ hang: () => new Promise(() => undefined) })
  for (let id = 1; id <= 16; id += 1) write({ id, method: 'hang' })
  write({ id: 1, method: 'hang' })
  write({ id: 17, method: 'hang' })
  expect(await messages(2)).toMatchObject([
    { id: 1, error: { code: -32_600 } },
    { id: 17, error: { code: -32_000 } },
  ])
})

test('errors keep their number; other errors are internal errors', async () => {
  const { write, messages } = client({
    bad: () => Promise.reject(new RpcError(INVALID_PARAMS, 'a name is missing')),
    broken: () => Promise.reject(new Error('it broke')),
  })
  write({ id: 1, method: 'bad' })
  write({ id: 2, method: 'broken' })
  expect(await messages(2)).toMatchObject([
    { id: 1, error: { code: INVALID_PARAMS, message: 'a name is missing' } },
    { id: 2, error: { code: -32_603, message: 'it broke' } },
  ])
})

test('it ends with its input, or when it is stopped, and aborts calls in progress', async () => {
  for (const way of ['end', 'stop'] as const) {
    const aborted = gate()
    const started = gate()
    const rpc = client({
      hang: (_, signal) => {
        started.resolve()
        return new Promise(() => signal.addEventListener('abort', () => aborted.resolve()))
      },
    })
    rpc.write({ id: 1, method: 'hang' })
    await started.promise
    if (way === 'end') rpc.input.end()
    else rpc.stop()
    await Promise.all([rpc.served, aborted.promise])
  }
})
