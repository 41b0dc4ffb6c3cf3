import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { HookonceError } from '../../model/errors.ts'
import type { Account } from './account.ts'
import { hasCode, lastLines } from './home.ts'

/**
 * Starts the PostgreSQL programs.
 *
 * The environment is a short list of variables that the programs need. The user's PGPORT, PGDATA,
 * PGOPTIONS… would affect them. The server outlives us, so it must not keep our caller's secrets in
 * its environment. The working directory is `/`, because the account may have no access to ours.
 */
export function spawnOptions(account: Account | undefined, extra: Record<string, string> = {}) {
  const env: Record<string, string> = { LC_ALL: 'C', ...extra }
  for (const name of ['PATH', 'TZ', 'SystemRoot', 'TEMP', 'TMP']) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  return { cwd: '/', env, windowsHide: true, ...account }
}

/**
 * Runs a program to its end, with `input` on its standard input. An error contains its last output.
 */
export async function run(
  command: readonly [program: string, ...args: string[]],
  options: { account: Account | undefined; input?: string },
): Promise<void> {
  const { code, output } = await outcomeOf(command, options)
  if (code === 0) return
  throw new HookonceError('EMBEDDED_FAILED', `${command[0]} failed (${code}):\n${lastLines(output)}`)
}

/**
 * Checks through the kernel whether the account can search these directories and run these
 * programs, which includes ACLs.
 */
export async function canReach(account: Account | undefined, paths: readonly string[]): Promise<boolean> {
  if (account === undefined) return true
  const script = 'for path do [ -x "$path" ] || exit 1; done'
  const { code } = await outcomeOf(['/bin/sh', '-c', script, 'sh', ...paths], { account })
  return code === 0
}

async function outcomeOf(
  [program, ...args]: readonly [string, ...string[]],
  options: { account: Account | undefined; input?: string },
): Promise<{ code: number | string; output: string }> {
  const child = spawn(program, args, spawnOptions(options.account))
  // A program that ends without reading its input breaks the pipe; its exit code explains why.
  child.stdin.on('error', (error) => {
    if (!hasCode(error, 'EPIPE', 'ECONNRESET')) child.kill()
  })
  child.stdin.end(options.input ?? '')
  const closed = once(child, 'close')
  try {
    const [out, err, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), closed])
    return { code: code ?? signal, output: out + err }
  } catch (error) {
    throw cannotRun(program, error)
  }
}

/** The error of a program that could not be started. */
export function cannotRun(program: string, error: unknown): HookonceError {
  // The file exists, so the loader that it names is missing: it needs another C library.
  if (hasCode(error, 'ENOENT') && process.platform === 'linux') {
    return new HookonceError(
      'EMBEDDED_UNSUPPORTED',
      `${program} cannot run on this system: it is built for glibc, which Alpine and other musl systems do not have. Set DATABASE_URL to a PostgreSQL server.`,
      { cause: error },
    )
  }
  const reason = error instanceof Error ? error.message : String(error)
  return new HookonceError('EMBEDDED_FAILED', `${program} cannot be started: ${reason}`, { cause: error })
}
