import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { expect } from 'vitest'
import type { RunningCli } from '../support/cli.ts'

/** More than any bounded queue of a gateway holds under these cases. */
const MAX_GROWTH_KIB = 256 * 1024

/** Sockets that are still open because their close is in progress, and connections of the ledger. */
const MORE_DESCRIPTORS = 100

/** Watches a fuzzed process: it must be alive, silent, and small, and close what it opened. */
export function watchProcess({ child, output }: RunningCli): { check(): void } {
  const before = rssKibOf(child.pid)
  const openBefore = descriptorsOf(child.pid)
  return {
    check() {
      expect(child.exitCode, output.stderr).toBe(null)
      expect(output.stderr).not.toMatch(/unhandled|uncaught|^\s+at .+:\d+:\d+\)?$/im)
      const grownBy = rssKibOf(child.pid) - before
      expect(grownBy, 'growth of the resident set in KiB').toBeLessThan(MAX_GROWTH_KIB)
      const opened = descriptorsOf(child.pid) - openBefore
      expect(opened, 'more open descriptors').toBeLessThan(MORE_DESCRIPTORS)
      // Only new output is checked.
      output.stderr = ''
      output.stdout = ''
    },
  }
}

/** Zero on a system without /proc. */
function descriptorsOf(pid: number | undefined): number {
  const folder = `/proc/${pid}/fd`
  return existsSync(folder) ? readdirSync(folder).length : 0
}

export function rssKibOf(pid: number | undefined): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }))
}
