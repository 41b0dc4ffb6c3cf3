import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Installs packages that some tests need and `npm ci` in the root omits: once, and again when the
 * lockfile has changed.
 */
export function installPackage(home: string): void {
  const lockfile = join(home, 'package-lock.json')
  /** Written last: a copy of the lockfile from which node_modules was installed. */
  const installed = join(home, 'node_modules', '.installed-lock.json')
  if (existsSync(installed) && readFileSync(installed).equals(readFileSync(lockfile))) return
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: home,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  copyFileSync(lockfile, installed)
}
