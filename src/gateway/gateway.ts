import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Hookonce } from '../hookonce.ts'
import { HookonceError } from '../model/errors.ts'
import type { Logger } from '../observe/logs.ts'
import { mergeSnapshots } from '../observe/merge-snapshots.ts'
import type { MetricsSnapshot } from '../observe/snapshot.ts'
import type { Sources } from '../options.ts'
import type { Capture } from './capture/capture.ts'
import type { GatewayConfig } from './config/config.ts'
import { deliveryPaths } from './delivery-paths.ts'

/*
 * A gateway whose configuration can be replaced while it runs. Each configuration has its own
 * instance of hookonce. A delivery ends with the configuration with which it began. The old
 * instance is stopped when its last delivery is answered and its work in progress has ended or was
 * handed back.
 */

export interface GatewayOptions {
  readonly config: GatewayConfig
  /** Makes an instance of hookonce without opening it. */
  readonly make: (config: GatewayConfig) => Hookonce<Sources>
  /** False: this process only receives. */
  readonly works: boolean
  /** How long work in progress may continue after its configuration was replaced. */
  readonly drainMs: number
  readonly logger: Logger
  /** Keeps requests to sources that are not configured. Undefined: they are refused. */
  readonly capture?: Pick<Capture, 'take'> | undefined
}

export interface Gateway {
  /** The instance of the configuration in force. Do not keep it: a reload stops it. */
  current(): Hookonce<Sources>
  /** The configuration in force. */
  config(): GatewayConfig
  /** Answers a delivery. False: the path is not for deliveries. */
  receive(request: IncomingMessage, response: ServerResponse, path: string): boolean
  /** Opens the ledger, and starts to work. */
  start(): Promise<void>
  /**
   * Puts another configuration in force. If it cannot be opened, the old one stays. Waits until the
   * one before the old one has ended, so that at most two are open.
   */
  replace(config: GatewayConfig): Promise<void>
  ready(): Promise<boolean>
  /** The metrics since the start, over all configurations. */
  readonly metrics: () => Promise<MetricsSnapshot>
  /** Also shortens the time of a replaced configuration. */
  stop(options: { readonly drainMs: number }): Promise<void>
}

interface Generation {
  readonly config: GatewayConfig
  readonly hooks: Hookonce<Sources>
  readonly sourceAt: (path: string) => string | undefined
  readonly isConfigured: (source: string) => boolean
  inFlight: number
  /** Called when the last delivery is answered. */
  onIdle: (() => void) | undefined
}

/** Longer than any request may take: the listener ends requests earlier. */
const ANSWERED_WITHIN_MS = 35_000

export function gateway({ config, make, works, drainMs, logger, capture }: GatewayOptions): Gateway {
  let generation = generationOf(config)
  /** The replaced generation, until it has ended. */
  let retired: Generation | undefined
  let retiring: Promise<void> = Promise.resolve()
  let replacing: Promise<void> = Promise.resolve()
  let ended: MetricsSnapshot | undefined
  let isStopping = false

  function generationOf(made: GatewayConfig): Generation {
    return {
      config: made,
      hooks: make(made),
      sourceAt: deliveryPaths(made.sources),
      isConfigured: (source) => Object.hasOwn(made.sources, source),
      inFlight: 0,
      onIdle: undefined,
    }
  }

  async function open({ hooks }: Generation): Promise<void> {
    await hooks.ledger()
    if (works) await hooks.start()
  }

  async function replace(next: GatewayConfig): Promise<void> {
    const opened = generationOf(next)
    await retiring
    try {
      await open(opened)
      if (isStopping) throw new HookonceError('LEDGER_DOWN', 'this process is stopping')
    } catch (error) {
      await opened.hooks.stop({ drainMs: 0 })
      throw error
    }
    const old = generation
    generation = opened
    retired = old
    retiring = retire(old)
  }

  async function retire(old: Generation): Promise<void> {
    await Promise.race([answered(old), delay(ANSWERED_WITHIN_MS, undefined, { ref: false })])
    await old.hooks.stop({ drainMs }).catch((error) => {
      // Its lease expires without further action, and then its jobs are rescued.
      logger.error({ error: String(error) }, 'the replaced configuration did not stop cleanly')
    })
    const last = await old.hooks.metrics.snapshot()
    ended = ended === undefined ? last : mergeSnapshots([ended, last])
    retired = undefined
  }

  function answered(old: Generation): Promise<void> {
    if (old.inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => {
      old.onIdle = resolve
    })
  }

  async function snapshot(): Promise<MetricsSnapshot> {
    // The gauges of the merged snapshot are those of the first one.
    const open = [generation, ...(retired ? [retired] : [])]
    // Read before the other snapshots: work that ends in between would be counted twice.
    const past = ended === undefined ? [] : [ended]
    const snapshots = await Promise.all(open.map(({ hooks }) => hooks.metrics.snapshot()))
    return mergeSnapshots([...snapshots, ...past])
  }

  return {
    current: () => generation.hooks,
    config: () => generation.config,
    receive(request, response, path) {
      const receiving = generation
      const source = receiving.sourceAt(path)
      if (source === undefined) return false
      if (capture && !receiving.isConfigured(source)) {
        capture.take(request, response)
        return true
      }
      receiving.inFlight += 1
      const end = (): void => {
        receiving.inFlight -= 1
        if (receiving.inFlight === 0) receiving.onIdle?.()
      }
      receiving.hooks.node({ source })(request, response).then(end, end)
      return true
    },
    start: () => open(generation),
    replace(next) {
      // Reloads run one after another, even after a failure.
      replacing = replacing.catch(() => undefined).then(() => replace(next))
      return replacing
    },
    ready: () => generation.hooks.ready(),
    metrics: snapshot,
    async stop({ drainMs: withinMs }) {
      isStopping = true
      await Promise.race([replacing.catch(() => undefined), delay(withinMs, undefined, { ref: false })])
      // `retire` reports a failure of the replaced generation.
      const shortened = retired?.hooks.stop({ drainMs: withinMs }).catch(() => undefined)
      await Promise.all([generation.hooks.stop({ drainMs: withinMs }), shortened, retiring])
    },
  }
}
