import { HookonceError } from '../model/errors.ts'
import { aheadClock } from './clock/ahead.ts'
import type { EventMaker } from './events.ts'
import { startHistory } from './late.ts'
import { isLoopback } from './loopback.ts'
import type { Stage } from './play.ts'
import { receiverProcess } from './receiver-process.ts'
import { isListening } from './send.ts'
import { watchBoundaries } from './watch/boundaries.ts'
import { recordCalls } from './watch/calls.ts'
import { type PostgresProxy, proxyPostgres } from './watch/postgres-proxy.ts'
import { watchRows } from './watch/rows.ts'

export interface StageRequest {
  readonly url: URL
  readonly maker: EventMaker
  readonly database: string | undefined
  /** The variable from which a started receiver reads its database URL. */
  readonly databaseVariable: string
  readonly downstreamPort: number | undefined
  readonly start: string | undefined
  readonly prepare: string | undefined
  /**
   * Patterns of ignored tables and columns: `table`, `schema.table`, `schema.*`, `table.column`.
   */
  readonly ignore: readonly string[]
  readonly quietMs: number
  readonly patienceMs: number
  /** Whether the prover may move the dates of rows. */
  readonly mayAgeRows: boolean
}

export interface OpenStage extends Stage {
  /** Whether the receiver used the proxy in front of its database. */
  wasProxied(): boolean
  close(): Promise<void>
}

/** The ledger of hookonce counts every copy. That is bookkeeping, not an effect. */
const ALWAYS_IGNORED = ['hookonce.*']

export async function openStage(request: StageRequest): Promise<OpenStage> {
  const { url, maker, database, start, patienceMs, quietMs, prepare } = request
  const closers: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    for (const each of closers.splice(0).reverse()) await each()
  }
  try {
    const boundaries = watchBoundaries()
    const isIgnored = ignoring([...ALWAYS_IGNORED, ...request.ignore])
    const rows = database === undefined ? undefined : await watchRows(database, isIgnored)
    if (rows) closers.push(() => rows.close())
    const calls =
      request.downstreamPort === undefined ? undefined : await recordCalls(request.downstreamPort, boundaries)
    if (calls) closers.push(() => calls.close())
    let proxy: PostgresProxy | undefined
    if (start !== undefined && database !== undefined) {
      proxy = await proxyPostgres(database, boundaries)
      closers.push(() => proxy?.close())
    }
    const env = { ...process.env, ...(proxy ? { [request.databaseVariable]: proxy.url } : {}) }
    const clock = aheadClock(url)
    closers.push(() => clock.close())
    const receiver = start === undefined ? undefined : receiverProcess(start, url, { env, clock })
    if (receiver) {
      boundaries.onKill(() => receiver.kill())
      const killAtExit = (): void => receiver.kill()
      process.once('exit', killAtExit)
      closers.push(() => {
        process.off('exit', killAtExit)
        receiver.kill()
      })
      await receiver.start()
    } else if (!(await isListening(url)))
      throw new HookonceError(
        'CONFIG_INVALID',
        `nothing listens at ${url.origin}; start the receiver, or pass --start with the command that starts it`,
      )
    return {
      url,
      maker,
      watchers: { rows, calls, boundaries, history: startHistory() },
      patience: { quietMs, patienceMs },
      receiver,
      prepare,
      mayAgeRows: request.mayAgeRows,
      wasProxied: () => (proxy?.connections ?? 0) > 0,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Whether one of the patterns matches a table or a column. */
export function ignoring(patterns: readonly string[]): (name: string) => boolean {
  const matchers = patterns.map((pattern) => {
    const text = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^.]*')
    // A name without a schema matches in every schema.
    return new RegExp(`^(?:[^.]+\\.)?${text}$`)
  })
  return (name) => matchers.some((matcher) => matcher.test(name))
}

export interface Target {
  readonly option: string
  readonly host: string
  readonly name: string
}

/**
 * The prover writes to the given database, so it refuses a database that may be in production. The
 * user can override this with --yes-not-production.
 */
export function refuseProduction(targets: readonly Target[]): void {
  for (const { option, host, name } of targets) {
    if (!isLoopback(host))
      throw new HookonceError(
        'CONFIG_INVALID',
        `${option} is on "${host}", not on this machine; prove writes test events into it. Pass --yes-not-production if it is a test system`,
      )
    if (/(^|[^a-z])(prod|production|live)([^a-z]|$)/i.test(name))
      throw new HookonceError(
        'CONFIG_INVALID',
        `${option} names "${name}", which looks like production; prove writes test events into it. Pass --yes-not-production if it is a test system`,
      )
  }
}
