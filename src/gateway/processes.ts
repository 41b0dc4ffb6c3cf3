import cluster, { type Worker as Child } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../observe/logs.ts'
import { mergeSnapshots } from '../observe/merge-snapshots.ts'
import type { MetricsSnapshot } from '../observe/snapshot.ts'
import { troubleLog } from '../observe/trouble-log.ts'
import type { Ledgers } from '../operate/tables.ts'
import { type AdminOptions, startAdmin } from './admin-server.ts'
import { gatewayFacts } from './api/gateway-facts.ts'
import type { GatewayConfig } from './config/config.ts'
import { firstEventCommand } from './first-event.ts'
import { health } from './health.ts'
import { ask } from './questions.ts'
import { urlOfListener } from './test-event.ts'
import { verifyCommand } from './verify-command.ts'
import type { ConfigWatch } from './watch-config.ts'

/*
 * Several processes behind one port, for machines with more than one core. Each has its own
 * instance of hookonce, with its own lease and connections; they share the ledger. The first
 * process distributes connections, restarts processes that end, and has the admin listener, where
 * it adds up their metrics.
 */

/** Whether this process is one of several, started by the first process. */
export const isOneOfSeveral = cluster.isWorker

/** Closes the channel to the first process, which would keep this process alive after its end. */
export function leaveOthers(): void {
  if (!cluster.worker) return
  // Without a handler, Node would end this process at once, with exit code 0.
  cluster.worker.exitedAfterDisconnect = true
  if (process.connected) process.disconnect()
}

/** The pause before the restart of a process that dies at every start. */
const RESTART_PAUSE_MS = 1_000
/** The admin listener has nothing to drain. Only a scrape in progress may finish. */
const ADMIN_CLOSE_MS = 1_000

export interface ProcessGroup {
  readonly count: number
  readonly logger: Logger
  /** Watches the configuration. `toAll` makes every process read it again. */
  readonly watch: (toAll: () => Promise<void>) => ConfigWatch
  readonly admin: Pick<AdminOptions, 'host' | 'port' | 'path' | 'token' | 'local'>
  /** The configuration in force. */
  readonly config: () => GatewayConfig
  /** The file of the configuration. */
  readonly file: string
  /** The ledger for the admin API: this process has no instance of hookonce. */
  readonly ledger: () => Promise<Ledgers>
}

/** Keeps `count` processes running until SIGINT or SIGTERM. Resolves to the exit code. */
export async function keepProcesses(group: ProcessGroup): Promise<number> {
  const { count, logger, watch, admin, config, file, ledger } = group
  const children = new Set<Child>()
  /** Processes that have started. A starting process cannot answer. */
  const listening = new Set<Child>()
  const totals = totalsOf(listening)
  let isReady = false
  let isStopping = false
  let exitCode = 0
  let deliveryUrl: string | undefined
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
    metrics: totals.snapshot,
    api: {
      ledger,
      gateway: gatewayFacts(config, {
        deliveryUrl: () => deliveryUrl,
        firstEvent: (tenant) =>
          deliveryUrl && firstEventCommand({ config: config(), file, deliveryUrl, tenant }),
        verifyCommand: (source) => verifyCommand(source, { config: file }),
      }),
      onTrouble: troubleLog(logger),
    },
  })

  function start(): void {
    const child = cluster.fork()
    children.add(child)
    child.on('listening', ({ address, port }) => {
      listening.add(child)
      deliveryUrl = urlOfListener(address, port)
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
      // The process has logged the reason. The other processes would fail in the same way.
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

  /** A process that is starting reads the newest file anyway. */
  async function reloadAll(): Promise<void> {
    const answers = await Promise.all(Array.from(listening, (child) => ask(child, 'reload')))
    const failed = answers.filter((answer) => answer !== true).length
    if (failed > 0) throw new Error(`${failed} of ${answers.length} processes did not apply it`)
  }

  function stop(): void {
    isStopping = true
    watching.stop()
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
  const watching = watch(reloadAll)
  for (let n = 0; n < count; n += 1) start()
  await allEnded
  await adminListener.close(ADMIN_CLOSE_MS)
  return exitCode
}

function pidsOf(children: Iterable<Child>): (number | undefined)[] {
  return Array.from(children, (child) => child.process.pid)
}

/**
 * The metrics of all processes as one. The counts of a process remain in the sums after it has
 * ended, and while it does not answer: Prometheus would interpret a decreasing sum as a restart.
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
      // The merged gauges are those of the first snapshot, so the current snapshots come first.
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
