import { writeFileSync } from 'node:fs'
import { Server } from 'node:net'
import { join } from 'node:path'
import { AHEAD_MS, REPORTS } from './variables.ts'

/*
 * Preloaded into a receiver with --import: moves its wall clock ahead. Timers and performance.now()
 * do not change. The process reports each port on which it listens, so that the prover knows
 * whether the receiver itself follows this clock, and not only a program that starts it.
 */

moveClock(Number(process.env[AHEAD_MS] ?? 0))
reportPorts(process.env[REPORTS])

function moveClock(aheadMs: number): void {
  const RealDate = Date
  const realNow = RealDate.now
  const now = (): number => realNow() + aheadMs
  RealDate.now = now
  const MovedDate = new Proxy(RealDate, {
    apply: () => new RealDate(now()).toString(),
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  })
  // Some libraries recognise a date by its constructor.
  RealDate.prototype.constructor = MovedDate
  globalThis.Date = MovedDate
}

function reportPorts(folder: string | undefined): void {
  if (folder === undefined) return
  const report = (server: Server): void => {
    const address = server.address()
    if (typeof address === 'object' && address !== null) writeFileSync(join(folder, `${address.port}`), '')
  }
  Server.prototype.listen = new Proxy(Server.prototype.listen, {
    apply(listen, server: Server, args) {
      server.once('listening', () => report(server))
      return Reflect.apply(listen, server, args)
    },
  })
}
