import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/* The snippets of docs/reference/keys.md run unchanged, with the built package. */

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const KEYS = readFileSync(join(ROOT, 'docs', 'reference', 'keys.md'), 'utf8')
const snippets = [...KEYS.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code]) => code ?? '')

/** The declarations that the snippets assume. */
const GIVEN = `
import { memoryKeys } from 'hookonce/keys'
const given = memoryKeys()
const userOf = () => 'anna'
const createOrder = async () => ({ id: 7 })
`

function snippet(sign: string): string {
  const found = snippets.filter((code) => code.includes(sign))
  if (found.length !== 1) throw new Error(`${found.length} snippets of keys.md hold ${sign}`)
  return found[0] ?? ''
}

/** Runs code inside the package, so that it resolves `hookonce/…` like a user's code. */
async function run(code: string): Promise<{ printed: () => string; gone: Promise<unknown> }> {
  mkdirSync(join(ROOT, '.hookonce'), { recursive: true })
  const dir = mkdtempSync(join(ROOT, '.hookonce', 'snippet-'))
  const file = join(dir, 'snippet.mjs')
  writeFileSync(file, `${GIVEN}\n${code}`)
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] })
  const gone = once(child, 'exit')
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      printed += String(chunk)
    })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await gone
    rmSync(dir, { recursive: true, force: true })
  })
  return { printed: () => printed, gone }
}

async function serve(code: string): Promise<{ port: number; printed: () => string }> {
  const port = await freePort()
  // Replaces the snippet's own server and port.
  const { printed } = await run(
    code
      .replace(/^const store = .*$/m, '')
      .replaceAll(/\bstore\b(?=,| })/g, 'store: given')
      .replace('3000', String(port)),
  )
  return { port, printed }
}

const servers = {
  'node:http': 'nodeKeys(',
  Express: 'hookonce/keys/express',
  Koa: 'hookonce/keys/koa',
  Fastify: 'hookonce/keys/fastify',
  Hono: 'hookonce/keys/hono',
}

test.each(Object.entries(servers))('the snippet for %s serves, and replays', async (_, sign) => {
  const { port, printed } = await serve(snippet(sign))
  const post = () =>
    fetch(`http://127.0.0.1:${port}/orders`, {
      method: 'POST',
      body: '{"item":"tea"}',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'one' },
    }).catch(() => undefined)
  const first = await until(`it listens; it printed ${printed()}`, post)
  const second = await post()
  expect([first.status, await first.json()]).toEqual([201, { id: 7 }])
  expect([second?.status, await second?.json()]).toEqual([201, { id: 7 }])
  expect(second?.headers.get('idempotent-replayed')).toBe('true')
})

test('the snippet for clients sends to the snippet for Express', async () => {
  const { port, printed } = await serve(snippet('hookonce/keys/express'))
  // The client retries, but not for as long as a busy machine may take to start the server.
  await until(`it listens; it printed ${printed()}`, () =>
    fetch(`http://127.0.0.1:${port}/`).catch(() => undefined),
  )
  const client = await run(`
    ${snippet('hookonce/keys/client').replace('3000', String(port))}
    console.log(response.status, await response.text())`)
  await client.gone
  expect(client.printed()).toContain('201 {"id":7}')
})

test('the snippet for once() runs its function once', async () => {
  const code = snippet('await once(').replace('await once(store', 'for (const _ of [1, 2]) await once(given')
  const { printed, gone } = await run(`
    const message = { id: 'm_1', body: { amount: 1 } }
    const charge = () => console.log('charged')
    ${code}`)
  await gone
  expect(printed()).toBe('charged\n')
})

test('the snippet for completers runs each step once, and stops', async () => {
  const { printed, gone } = await run(`
    const order = { id: 'o_1', customer: 'anna' }
    const bank = { charge: (order, key) => console.log('charged', order.id, key.length) }
    const mail = { send: (order, key) => console.log('mailed', order.id, key.length) }
    ${snippet('resumable(store').replace(/^const store = .*$/m, 'const store = given')}
    await placeOrder(order.id, order, { tenant: order.customer })
    process.kill(process.pid, 'SIGTERM')`)
  await gone
  expect(printed()).toBe('charged o_1 64\nmailed o_1 64\n')
})

test('the snippet for completers of requests begins', async () => {
  const { printed, gone } = await run(`
    const store = given
    const tokenFor = () => 'token'
    ${snippet('requestsTo({ store').replace('startCompleter([', 'const completer = startCompleter([')}
    await completer.stop()
    console.log('stopped')`)
  await gone
  expect(printed()).toBe('stopped\n')
})

test('the snippet for your own store runs the contract', async () => {
  const { printed, gone } = await run(`
    import test from 'node:test'
    import { keyStoreContract } from 'hookonce/keys/contract'
    ${snippet('keyStoreContract(').replaceAll('store)', 'given)').replace(", 'sweep'", '')}`)
  await gone
  expect(printed()).toMatch(/fail 0/)
  expect(printed()).not.toMatch(/pass 0/)
})
