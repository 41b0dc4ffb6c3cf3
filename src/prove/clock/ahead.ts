import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AHEAD_MS, REPORTS } from './variables.ts'

/** Starts of the receiver with its clock moved ahead. Only Node.js reads NODE_OPTIONS. */
export interface AheadClock {
  /** The environment for the next start. */
  environment(env: NodeJS.ProcessEnv, aheadMs: number): NodeJS.ProcessEnv
  /** Whether the process that listens at the URL has the moved clock. */
  isFollowed(): Promise<boolean>
  close(): void
}

/** A process reports its port right after it accepts connections. */
const REPORTED_WITHIN_MS = 2_000

export function aheadClock({ port, protocol }: URL): AheadClock {
  const name = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  const preload = new URL('./moved-clock.js', import.meta.url).href
  const folders: string[] = []
  return {
    environment(env, aheadMs) {
      const folder = mkdtempSync(join(tmpdir(), 'hookonce-prove-'))
      folders.push(folder)
      const options = [env.NODE_OPTIONS, `--import=${preload}`].filter((text) => text).join(' ')
      return { ...env, NODE_OPTIONS: options, [AHEAD_MS]: `${aheadMs}`, [REPORTS]: folder }
    },
    async isFollowed() {
      const report = join(folders.at(-1) ?? '', name)
      const deadline = Date.now() + REPORTED_WITHIN_MS
      while (!existsSync(report) && Date.now() < deadline) await sleep(20)
      return existsSync(report)
    },
    close() {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    },
  }
}
