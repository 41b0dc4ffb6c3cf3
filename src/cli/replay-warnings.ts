import type { UnattendedSubscriber } from '../operate/replay.ts'
import { clock, safe } from './print.ts'
import { styleOf } from './style.ts'

/** Prints to standard error, so that standard output can be piped into another program. */
export function warnOf(warnings: readonly string[]): void {
  const { yellow } = styleOf(process.stderr)
  for (const warning of warnings) process.stderr.write(`${yellow(safe(`warning: ${warning}`))}\n`)
}

/** Reasons why due jobs would still wait. */
export function unattendedWarnings(unattended: readonly UnattendedSubscriber[]): string[] {
  const [first] = unattended
  if (!first) return []
  if (!first.othersRun) return ['no worker is running: the replayed jobs wait until one starts']
  return unattended.map(
    ({ source, subscriber, since }) =>
      `no running worker serves "${subscriber}" of ${source} (since ${clock(since)}): its job waits until one does (see hookonce subscribers)`,
  )
}

export function jobsText(count: number): string {
  return `${count} ${count === 1 ? 'job' : 'jobs'}`
}
