import { connect, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startCli } from '../support/cli.ts'
import { freshDatabase } from '../support/database.ts'
import { configFile, configTo, deliver, destination, ENV, serveArgs } from '../support/gateway.ts'
import { fuzz, fuzzRun } from './cases.ts'
import { type Bytes, type ListenerName, socketBytes } from './http-bytes.ts'
import { watchProcess } from './process-watch.ts'

/*
 * Raw bytes at the delivery listener and at the admin listener of a running gateway. Each case has
 * its own connection. The connection is answered or closed, nothing unsigned is recorded, and the
 * next valid delivery is accepted. Without a token, the admin listener shows public pages only.
 */

/** Longer than the listener waits for the rest of a request whose sender has disconnected. */
const HANGS_AFTER_MS = 40_000
/** Connections that send single bytes for as long as the cases run. */
const SLOW = 40

async function exchange(port: number, { bytes, cuts, what }: Bytes): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1')
  })
  // A reset connection is one of the correct results.
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const hangs = setTimeout(() => socket.destroy(new Error('hangs')), HANGS_AFTER_MS)
  let at = 0
  for (const cut of cuts) {
    socket.write(bytes.subarray(at, cut))
    at = cut
    await turn()
  }
  socket.end(bytes.subarray(at))
  await closed
  clearTimeout(hangs)
  if (socket.errored?.message === 'hangs') throw new Error(`neither answered nor closed: ${what}`)
  return answer
}

/**
 * The statuses of all responses on one connection. Bodies of hookonce hold no line that looks like
 * a status line.
 */
function statusesOf(answer: string): number[] {
  return [...answer.matchAll(/(?:^|\n|\})HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
}

const isAccepted = (status: number): boolean => status >= 200 && status <= 299

/** Public are the page and health. The data behind tokens has other media types. */
function isPublic(response: string): boolean {
  const [head = ''] = response.split('\r\n\r\n')
  return /^content-type: text\/(html|plain); charset=utf-8\r?$/im.test(head)
}

/** The fault in the responses of the admin listener to requests without a valid token. */
function adminFault(answer: string): string | undefined {
  const responses = answer.split(/(?<=^|\n|\})(?=HTTP\/1\.1 \d{3})/)
  const wrong = responses.find((response) =>
    statusesOf(response).some((status) => status === 500 || (isAccepted(status) && !isPublic(response))),
  )
  return wrong?.slice(0, 1_000)
}

function deliveryFault(answer: string): string | undefined {
  const wrong = statusesOf(answer).filter((status) => !REFUSALS.has(status))
  return wrong.length > 0 ? `${wrong}\n${answer.slice(0, 1_000)}` : undefined
}

function sendSlowly(port: number): void {
  const head = 'POST /in/stripe HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n'
  let sent = 0
  let socket: Socket | undefined
  const timer = setInterval(() => {
    if (!socket || socket.destroyed) {
      sent = 0
      socket = connect(port, '127.0.0.1').on('error', () => undefined)
    }
    socket.write(head[sent] ?? 'x')
    sent += 1
  }, 100)
  onTestFinished(() => {
    clearInterval(timer)
    socket?.destroy()
  })
}

/** The statuses of refusals, by hookonce and by Node's parser. */
const REFUSALS = new Set([
  100, 400, 401, 404, 405, 408, 411, 413, 414, 415, 417, 426, 429, 431, 501, 503, 505,
])

test('no bytes make the gateway crash, hang or record unsigned data', {
  timeout: 24 * 3_600_000,
}, async () => {
  const db = await freshDatabase()
  const forwarded = await destination()
  const gateway = startCli(serveArgs(configFile(configTo(forwarded.url)), '--admin-port', '0'), {
    ...ENV,
    DATABASE_URL: db.url,
    HOOKONCE_ADMIN_TOKEN: 'the-admin-token-of-these-tests',
  })
  const { port, adminPort } = await gateway.line<{ port: number; adminPort: number }>('adminPort')
  const { first } = fuzzRun({ cases: 0 })
  const accepted = new Set<string>()
  async function accept(id: string): Promise<void> {
    expect(await deliver(port, id)).toBe(202)
    accepted.add(id)
  }
  await accept('first')
  for (let count = 0; count < SLOW; count += 1) sendSlowly(port)
  const watch = watchProcess(gateway)

  await fuzz({ name: 'sockets', cases: 500, atOnce: 16 }, async (random, index) => {
    const listener: ListenerName = index % 3 === 2 ? 'admin' : 'delivery'
    const sent = socketBytes(random, index, listener)
    const answer = await exchange(listener === 'admin' ? adminPort : port, sent)
    const fault = listener === 'admin' ? adminFault(answer) : deliveryFault(answer)
    if (fault !== undefined) throw new Error(`${listener}: answered ${fault}\n${sent.what}`)
    if (/^\s+at .+:\d+:\d+\)?$/m.test(answer)) throw new Error(`answered with a stack: ${sent.what}`)
    if (index % 500 > 0) return
    await accept(`good_${first}_${index}`)
    watch.check()
  })

  await accept('last')
  watch.check()
  const recorded = await db.rows<{ event_key: string }>('select event_key from hookonce.receipt')
  expect(recorded.map(({ event_key }) => event_key).filter((key) => !accepted.has(key))).toEqual([])
  expect(recorded).toHaveLength(accepted.size)
  expect(await db.number('select count(*) from hookonce.job')).toBe(accepted.size)
  expect(await db.number('select count(*) from hookonce.audit')).toBe(0)
  // One row per source and reason, for any number of refusals.
  expect(await db.number('select count(*) from hookonce.rejection')).toBeLessThan(100)
  expect(await gateway.stop()).toBe(0)
})
