import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const HOME = import.meta.dirname
const LOCKFILE = join(HOME, 'package-lock.json')
/** Written last: a copy of the lockfile that node_modules was made from. */
const INSTALLED = join(HOME, 'node_modules', '.installed-lock.json')

/** Installs the providers' code before its proofs run: once, and again when the lockfile has changed. */
export default function install(): void {
  if (existsSync(INSTALLED) && readFileSync(INSTALLED).equals(readFileSync(LOCKFILE))) return
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: HOME,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  copyFileSync(LOCKFILE, INSTALLED)
}
