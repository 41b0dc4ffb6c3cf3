import { execFileSync } from 'node:child_process'
import { expect } from 'vitest'
import type { RunningCli } from '../support/cli.ts'

/** More than any bounded queue of a gateway holds under these cases. */
const MAX_GROWTH_KIB = 256 * 1024

/** Watches a fuzzed process: it must be alive, silent, and small. */
export function watchProcess({ child, output }: RunningCli): { check(): void } {
  const before = rssKibOf(child.pid)
  return {
    check() {
      expect(child.exitCode, output.stderr).toBe(null)
      expect(output.stderr).not.toMatch(/unhandled|uncaught|^\s+at .+:\d+:\d+\)?$/im)
      const grownBy = rssKibOf(child.pid) - before
      expect(grownBy, 'growth of the resident set in KiB').toBeLessThan(MAX_GROWTH_KIB)
      // Only new output is checked.
      output.stderr = ''
      output.stdout = ''
    },
  }
}

export function rssKibOf(pid: number | undefined): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }))
}
