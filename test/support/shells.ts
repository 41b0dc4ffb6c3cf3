import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installDebian } from '../../scripts/debian.mjs'
import { CLI_ENV, MAIN, temporaryDirectory } from './cli.ts'

export type Shell = 'bash' | 'zsh' | 'fish'

/** The shell. On Debian as root, a missing shell is installed. */
export function installShell(shell: Shell): string {
  const found = ['/usr/bin', '/bin', '/usr/local/bin', '/opt/homebrew/bin']
    .map((folder) => join(folder, shell))
    .find((path) => existsSync(path))
  if (found !== undefined) return found
  installDebian(shell, `the tests need the shell ${shell}: install it`)
  return join('/usr/bin', shell)
}

/** A folder with the program `hookonce`, for PATH. */
export function folderWithHookonce(): string {
  const folder = temporaryDirectory()
  const program = join(folder, 'hookonce')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(program, 0o755)
  return folder
}

export interface ShellRun {
  readonly script: string
  readonly cwd?: string
  readonly env?: Record<string, string>
}

/** Runs a script in a shell without the files of this user. Returns its lines. */
export function runShell(shell: Shell, { script, cwd, env = {} }: ShellRun): string[] {
  const flags = { bash: ['--norc', '--noprofile', '-c'], zsh: ['-f', '-c'], fish: ['--no-config', '-c'] }[
    shell
  ]
  const ran = spawnSync(installShell(shell), [...flags, script], {
    cwd,
    encoding: 'utf8',
    env: { ...CLI_ENV, PATH: `${folderWithHookonce()}:${CLI_ENV.PATH}`, HOME: temporaryDirectory(), ...env },
  })
  if (ran.stderr !== '') throw new Error(`${shell}: ${ran.stderr}`)
  return ran.stdout.split('\n').filter((line) => line !== '')
}
