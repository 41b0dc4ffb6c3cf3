import { fetchEffect } from '../effects/fetch-once.ts'
import type { Work } from '../effects/transaction.ts'
import { HookonceError } from '../model/errors.ts'
import type { Context, Handler } from '../process/subscriber.ts'

/**
 * Where a run can be abandoned:
 * - `step:NAME`, `effect:KEY`: its work has run, and nothing of that is recorded yet. `*` stands for
 *   any text.
 * - `write`: the business writes are made, and not committed.
 * - `commit`: they are committed, and the run has not continued.
 * - `ack`: the event is recorded, and the delivery was not answered.
 */
export type CrashPoint = `step:${string}` | `effect:${string}` | 'write' | 'commit' | 'ack'

export type FaultKind = 'crash' | 'freeze' | 'loseLease'

/** A fault that a test has requested. It happens once. */
export interface ArmedFault {
  readonly id: number
  readonly kind: FaultKind
  readonly point: CrashPoint
  readonly wasReached: boolean
}

export interface Faults {
  /** `time`: the occurrence of the point, from 1. */
  arm(kind: FaultKind, point: CrashPoint, time: number, id?: number): PendingFault
  /** Records that the fault with this id has happened, in another process. */
  happened(id: number): ArmedFault | undefined
  /** The fault that happens at this point, if there is one. */
  hit(point: CrashPoint): ArmedFault | undefined
  readonly unreached: readonly PendingFault[]
}

export interface PendingFault extends ArmedFault {
  /** How many more times the point must be reached before the fault happens. */
  readonly left: number
}

const POINT = /^(?:(?:step|effect):.+|write|commit|ack)$/s

export function faults(): Faults {
  const armed: (PendingFault & { wasReached: boolean; left: number; readonly matches: RegExp })[] = []
  return {
    arm(kind, point, time, id = armed.length) {
      if (!POINT.test(point)) {
        const fault = `"${point}" is not a point of a run; pass 'step:NAME', 'effect:KEY', 'write', 'commit' or 'ack'`
        throw new HookonceError('CONFIG_INVALID', fault)
      }
      const fault = { id, kind, point, left: time, wasReached: false, matches: patternOf(point) }
      armed.push(fault)
      return fault
    },
    hit(point) {
      const fault = armed.find(({ wasReached, matches }) => !wasReached && matches.test(point))
      if (!fault) return undefined
      fault.left -= 1
      if (fault.left > 0) return undefined
      fault.wasReached = true
      return fault
    },
    happened(id) {
      const fault = armed.find((one) => one.id === id)
      if (fault) fault.wasReached = true
      return fault
    },
    get unreached() {
      return armed.filter(({ wasReached }) => !wasReached)
    },
  }
}

function patternOf(point: CrashPoint): RegExp {
  const parts = point.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's')
}

/** The simulated process in which a handler runs. */
export interface Host {
  /**
   * Resolves at once in a living process, after the thaw in a frozen process, and never in a dead
   * process.
   */
  alive(): Promise<void>
  /** Like `alive`, but first carries out the fault that a test has requested here. */
  reach(point: CrashPoint): Promise<void>
  /** `commit` is reached when the ledger has the completion of this run. */
  reachWithCompletion(receiptId: string): void
}

/**
 * Wraps a handler so that it stops at each call of its context once its process is dead or frozen.
 */
export function hosted(handler: Handler, host: Host): Handler {
  return async (event, ctx) => {
    let hasWritten = false
    const onWrite = (): void => {
      hasWritten = true
    }
    const returned = await handler(event, hostedContext(ctx, host, onWrite))
    // Writes that were handed over are committed after the handler has returned.
    if (hasWritten) {
      await host.reach('write')
      host.reachWithCompletion(event.receiptId)
    }
    await host.alive()
    return returned
  }
}

function hostedContext(ctx: Context, host: Host, onWrite: () => void): Context {
  const after = async <Result>(point: CrashPoint, result: Promise<Result> | Result): Promise<Result> => {
    const value = await result
    await host.reach(point)
    return value
  }
  const between = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    await host.alive()
    const result = await call()
    await host.alive()
    return result
  }
  const committed = <Result>(call: () => Promise<Result>): Promise<Result> =>
    between(() => after('commit', call()))
  const hostedCtx: Context = {
    attempt: ctx.attempt,
    get signal() {
      return ctx.signal
    },
    idempotencyKey: ctx.idempotencyKey,
    write(...statements) {
      ctx.write(...statements)
      onWrite()
    },
    publish: (topic, payload, options) => ctx.publish(topic, payload, options),
    transaction: (work: Work<unknown>, options = {}) =>
      committed(() =>
        ctx.transaction(
          (async (tx: never, native: unknown) =>
            after('write', work(tx, native) as Promise<unknown>)) as never,
          options as never,
        ),
      ) as never,
    step: (name, work, options) =>
      between(() => ctx.step(name, (call) => after(`step:${name}`, work(call)), options)),
    effect: (key, work, options) =>
      between(() => ctx.effect(key, (call) => after(`effect:${key}`, work(call)), options)),
    async fetch(url, init) {
      const { key, work, options, response } = fetchEffect(url, init)
      return response(await hostedCtx.effect(key, work, options))
    },
    latest: (entity, version, work, options) =>
      committed(() =>
        ctx.latest(
          entity,
          version,
          (tx, current) => after('write', work(tx, current as never)),
          options as never,
        ),
      ) as never,
    defer: (delayMs, reason) => ctx.defer(delayMs, reason),
  }
  return hostedCtx
}
