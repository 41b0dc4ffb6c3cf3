import cluster, { type Worker as Child } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../observe/logs.ts'
import { mergeMetrics } from '../observe/merge-metrics.ts'
import { type AdminOptions, startAdmin } from './admin-server.ts'
import { health } from './health.ts'
import { ask, askReady } from './questions.ts'

/*
 * Several processes behind one port, for machines with more cores than one. Each is a whole
 * hookonce, with a lease and a pool of its own; what they share is the ledger. The first process
 * only hands connections round, keeps them alive, and has the admin listener, where it adds up
 * their metrics.
 */

/** Whether this is one of several, and another process keeps it. */
export const isOneOfSeveral = cluster.isWorker

/** One of several that has ended: the channel to the first process would keep it alive. */
export function leaveOthers(): void {
  if (!cluster.worker) return
  // Without it, node would end this process at once and call that a success.
  cluster.worker.exitedAfterDisconnect = true
  if (process.connected) process.disconnect()
}

/** A process that dies at once every time must not keep the machine busy with being started. */
const RESTART_PAUSE_MS = 1_000
/** The admin listener has nothing to drain: a scrape under way may end. */
const ADMIN_CLOSE_MS = 1_000

export interface Keeping {
  readonly count: number
  readonly logger: Logger
  readonly admin: Pick<AdminOptions, 'host' | 'port' | 'token'>
}

/** Keeps `count` processes running until this one is told to stop. Resolves to the exit code. */
export async function keepProcesses({ count, logger, admin }: Keeping): Promise<number> {
  const children = new Set<Child>()
  /** Those that have started: before that they do not answer. */
  const listening = new Set<Child>()
  const counted = countedBy(listening)
  let isReady = false
  let isStopping = false
  let exitCode = 0
  let ended: () => void
  const allEnded = new Promise<void>((resolve) => {
    ended = resolve
  })
  const administering = await startAdmin({
    ...admin,
    health: health(async () => (await Promise.all(Array.from(listening, askReady))).includes(true)),
    metrics: counted.metrics,
  })

  function start(): void {
    const child = cluster.fork()
    children.add(child)
    child.on('listening', ({ port }) => {
      listening.add(child)
      if (isReady || listening.size < count) return
      isReady = true
      const processes = pidsOf(children)
      logger.info({ port, adminPort: administering.port, processes }, 'hookonce is ready')
    })
    child.on('error', (error) => {
      logger.error({ pid: child.process.pid, error: String(error) }, 'a process cannot be reached')
    })
    child.on('exit', (code, signal) => void afterExit(child, code, signal))
  }

  async function afterExit(child: Child, code: number | null, signal: string | null): Promise<void> {
    children.delete(child)
    counted.ended(child)
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
  await administering.close(ADMIN_CLOSE_MS)
  return exitCode
}

function pidsOf(children: Iterable<Child>): (number | undefined)[] {
  return Array.from(children, (child) => child.process.pid)
}

/**
 * The metrics of all processes as one. What a process counted stays in the sums after its end, and
 * while it does not answer, as it was last told: a sum that goes down reads as a restart of
 * everything.
 */
function countedBy(children: ReadonlySet<Child>) {
  const lastTold = new Map<Child, string>()
  let gone: string | undefined

  return {
    async metrics(): Promise<string> {
      const answered = new Set<Child>()
      await Promise.all(
        Array.from(children, async (child) => {
          const text = await ask(child, 'metrics')
          if (text === undefined || !children.has(child)) return
          lastTold.set(child, text)
          answered.add(child)
        }),
      )
      const told = [...lastTold].filter(([child]) => answered.has(child))
      if (told.length === 0) throw new Error('no process has told its metrics')
      const older = [...lastTold].filter(([child]) => !answered.has(child))
      // Gauges are those of the first text.
      const texts = [...told, ...older].map(([, text]) => text)
      return mergeMetrics(gone === undefined ? texts : [...texts, gone])
    },
    ended(child: Child): void {
      const text = lastTold.get(child)
      lastTold.delete(child)
      if (text !== undefined) gone = mergeMetrics(gone === undefined ? [text] : [gone, text])
    },
  }
}
