import cluster, { type Worker as Child } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../observe/logs.ts'
import { mergeSnapshots } from '../observe/merge-snapshots.ts'
import { prometheusText } from '../observe/prometheus.ts'
import type { MetricsSnapshot } from '../observe/snapshot.ts'
import { type AdminOptions, startAdmin } from './admin-server.ts'
import { health } from './health.ts'
import { ask } from './questions.ts'

/*
 * Several processes behind one port, for machines with more than one core. Each is a whole
 * hookonce, with its own lease and connections; they share the ledger. The first process
 * distributes connections, restarts processes that end, and has the admin listener, where it adds
 * up their metrics.
 */

/** Whether this process is one of several, started by the first process. */
export const isOneOfSeveral = cluster.isWorker

/** Closes the channel to the first process, which would keep this process alive after its end. */
export function leaveOthers(): void {
  if (!cluster.worker) return
  // Otherwise Node would end this process at once, with exit code 0.
  cluster.worker.exitedAfterDisconnect = true
  if (process.connected) process.disconnect()
}

/** Limits the restarts of a process that dies at every start. */
const RESTART_PAUSE_MS = 1_000
/** The admin listener has nothing to drain: only a scrape in progress may finish. */
const ADMIN_CLOSE_MS = 1_000

export interface ProcessGroup {
  readonly count: number
  readonly logger: Logger
  readonly admin: Pick<AdminOptions, 'host' | 'port' | 'token'>
}

/** Keeps `count` processes running until SIGINT or SIGTERM. Resolves to the exit code. */
export async function keepProcesses({ count, logger, admin }: ProcessGroup): Promise<number> {
  const children = new Set<Child>()
  /** Processes that have started: before that they do not answer. */
  const listening = new Set<Child>()
  const totals = totalsOf(listening)
  let isReady = false
  let isStopping = false
  let exitCode = 0
  let ended: () => void
  const allEnded = new Promise<void>((resolve) => {
    ended = resolve
  })
  const adminListener = await startAdmin({
    ...admin,
    health: health(async () => {
      const answers = await Promise.all(Array.from(listening, (child) => ask(child, 'ready')))
      return answers.includes(true)
    }),
    metrics: async () => prometheusText(await totals.snapshot()),
  })

  function start(): void {
    const child = cluster.fork()
    children.add(child)
    child.on('listening', ({ port }) => {
      listening.add(child)
      if (isReady || listening.size < count) return
      isReady = true
      const processes = pidsOf(children)
      logger.info({ port, adminPort: adminListener.port, processes }, 'hookonce is ready')
    })
    child.on('error', (error) => {
      logger.error({ pid: child.process.pid, error: String(error) }, 'a process cannot be reached')
    })
    child.on('exit', (code, signal) => void afterExit(child, code, signal))
  }

  async function afterExit(child: Child, code: number | null, signal: string | null): Promise<void> {
    children.delete(child)
    totals.keep(child)
    const wasListening = listening.delete(child)
    if (!isStopping && !isReady && !wasListening) {
      // It has logged the reason. The others would fail in the same way.
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
  await adminListener.close(ADMIN_CLOSE_MS)
  return exitCode
}

function pidsOf(children: Iterable<Child>): (number | undefined)[] {
  return Array.from(children, (child) => child.process.pid)
}

/**
 * The metrics of all processes as one. The counts of a process stay in the sums after it ended, and
 * while it does not answer: Prometheus takes a sum that decreases for a restart of everything.
 */
function totalsOf(children: ReadonlySet<Child>) {
  const latest = new Map<Child, MetricsSnapshot>()
  let ended: MetricsSnapshot | undefined

  return {
    async snapshot(): Promise<MetricsSnapshot> {
      const answered = new Set<Child>()
      await Promise.all(
        Array.from(children, async (child) => {
          const snapshot = await ask(child, 'metrics')
          if (snapshot === undefined || !children.has(child)) return
          latest.set(child, snapshot)
          answered.add(child)
        }),
      )
      if (answered.size === 0) throw new Error('no process has reported its metrics')
      const current = [...latest].filter(([child]) => answered.has(child))
      const older = [...latest].filter(([child]) => !answered.has(child))
      // Gauges are those of the first snapshot, so the current ones come first.
      const snapshots = [...current, ...older].map(([, snapshot]) => snapshot)
      return mergeSnapshots(ended === undefined ? snapshots : [...snapshots, ended])
    },
    /** Keeps the counts of a process that has ended. */
    keep(child: Child): void {
      const snapshot = latest.get(child)
      latest.delete(child)
      if (snapshot) ended = mergeSnapshots(ended === undefined ? [snapshot] : [ended, snapshot])
    },
  }
}
