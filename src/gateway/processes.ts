import cluster, { type Worker as Child } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../observe/logs.ts'
import { mergeMetrics } from '../observe/merge-metrics.ts'

/*
 * Several processes behind one port, for machines with more cores than one. Each is a whole hookonce, with a lease and a
 * pool of its own; what they share is the ledger. The first process only hands connections round, keeps them
 * alive, and adds up their metrics.
 */

/** Whether this is one of several, and another process keeps it. */
export const isOneOfSeveral = cluster.isWorker

/** One of several that has ended: the channel to the first process would keep it alive. */
export function leaveOthers(): void {
  if (!cluster.worker) return
  // Without it, node would end this process at once and call that a success.
  cluster.worker.exitedAfterDisconnect = true
  process.disconnect()
}

/** A process that dies at once every time must not keep the machine busy with being started. */
const RESTART_PAUSE_MS = 1_000
const METRICS_WITHIN_MS = 5_000

/** Keeps `count` processes running until this one is told to stop. Resolves to the exit code. */
export async function keepProcesses(count: number, logger: Logger): Promise<number> {
  const children = new Set<Child>()
  const listening = new Set<Child>()
  let isReady = false
  let isStopping = false
  let exitCode = 0
  let ended: () => void
  const allEnded = new Promise<void>((resolve) => {
    ended = resolve
  })

  function start(): void {
    const child = cluster.fork()
    children.add(child)
    child.on('listening', ({ port }) => {
      listening.add(child)
      if (isReady || listening.size < count) return
      isReady = true
      logger.info({ port, processes: pidsOf(children) }, 'hookonce is ready')
    })
    child.on('message', (message: Message) => void answer(child, message))
    child.on('exit', (code, signal) => void afterExit(child, code, signal))
  }

  async function afterExit(child: Child, code: number | null, signal: string | null): Promise<void> {
    children.delete(child)
    const wasListening = listening.delete(child)
    if (!isStopping && !isReady && !wasListening) {
      // It has said why. The others would fail in the same way.
      exitCode = code ?? 1
      stop()
    }
    if (isStopping) {
      if (children.size === 0) ended()
      return
    }
    logger.error({ pid: child.process.pid, code, signal }, 'a process ended; another one is started')
    await delay(RESTART_PAUSE_MS)
    if (!isStopping) start()
  }

  function stop(): void {
    isStopping = true
    for (const child of children) child.process.kill('SIGTERM')
    if (children.size === 0) ended()
  }

  async function answer(asking: Child, message: Message): Promise<void> {
    if (message.about !== 'gather') return
    const told = await Promise.all([...children].map((child) => metricsOf(child, message.id))).catch(
      () => undefined,
    )
    // Left out, a process would make the sums go down, which reads as a restart.
    asking.send({ about: 'gathered', id: message.id, text: told && mergeMetrics(told) } satisfies Message)
  }

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stop()
      process.once(signal, () => {
        for (const child of children) child.process.kill('SIGKILL')
      })
    })
  }
  for (let n = 0; n < count; n += 1) start()
  await allEnded
  return exitCode
}

function pidsOf(children: Iterable<Child>): (number | undefined)[] {
  return Array.from(children, (child) => child.process.pid)
}

type Message =
  | { readonly about: 'gather'; readonly id: number }
  | { readonly about: 'tell'; readonly id: number }
  | { readonly about: 'told' | 'gathered'; readonly id: number; readonly text: string | undefined }

/** In the first process: what one of the others has counted. */
async function metricsOf(child: Child, id: number): Promise<string> {
  const text = await reply(child, { about: 'told', id }, () =>
    child.send({ about: 'tell', id } satisfies Message),
  )
  if (text === undefined) throw new Error(`process ${child.process.pid} cannot tell its metrics`)
  return text
}

/** In one of several: makes its metrics part of the sum, and returns what asks for the sum. */
export function sharedMetrics(own: () => Promise<string>): () => Promise<string> {
  let asked = 0
  process.on('message', async (message: Message) => {
    if (message.about !== 'tell') return
    const text = await own().catch(() => undefined)
    process.send?.({ about: 'told', id: message.id, text } satisfies Message)
  })
  return async () => {
    // Ids of different processes must not meet in the first one.
    const id = process.pid * 1_000_000 + (asked++ % 1_000_000)
    const text = await reply(process, { about: 'gathered', id }, () =>
      process.send?.({ about: 'gather', id } satisfies Message),
    )
    if (text === undefined) throw new Error('not all processes told their metrics')
    return text
  }
}

interface Channel {
  on(event: 'message', listener: (message: Message) => void): unknown
  off(event: 'message', listener: (message: Message) => void): unknown
}

/** Asks, and waits for the answer with this id; undefined when it does not come. */
function reply(
  channel: Channel,
  { about, id }: Pick<Extract<Message, { text: unknown }>, 'about' | 'id'>,
  ask: () => unknown,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    function end(text: string | undefined): void {
      clearTimeout(timer)
      channel.off('message', onMessage)
      resolve(text)
    }
    function onMessage(message: Message): void {
      if (message.about === about && message.id === id && 'text' in message) end(message.text)
    }
    const timer = setTimeout(end, METRICS_WITHIN_MS, undefined)
    channel.on('message', onMessage)
    ask()
  })
}
