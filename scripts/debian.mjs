// Installs packages of Debian that tests, measurements and pictures need.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A lock that all test runs of one user on this machine share. */
const LOCK = join(tmpdir(), 'hookonce-apt.lock')

/**
 * Installs a package as root, without starting servers. `missing` is the error if it cannot be
 * installed. Concurrent installations wait for each other, because apt does not wait.
 */
export function installDebian(name, missing) {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new Error(missing)
  const script = 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$0"'
  execFileSync('flock', [LOCK, 'sh', '-c', script, name], {
    stdio: 'inherit',
    // RUNLEVEL=1 prevents packages from starting their servers.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  })
}
