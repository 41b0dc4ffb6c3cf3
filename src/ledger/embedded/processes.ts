import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { hasCode } from './home.ts'

/**
 * Identifies a running process, even if its pid is reused later. Undefined if none runs.
 *
 * A pid alone is not enough: in a restarted container all pids start at 1 again. A zombie counts as
 * ended: an application that runs as pid 1 never reaps orphans, and kill(pid, 0) would report them
 * as alive forever.
 */
export async function identityOf(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return isSignalable(pid) ? 'running' : undefined
  const stat = await readProc(pid, 'stat')
  // The second field is the program's name in parentheses and may contain spaces: count from its
  // end.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  const [state] = fields
  const startedAtTick = fields[19]
  return state === 'Z' || state === 'X' ? undefined : startedAtTick
}

/**
 * Whether this pid is a postmaster of this data directory, and not a program that got the pid
 * later.
 */
export async function isPostmasterOf(pid: number, dataDir: string): Promise<boolean> {
  if (process.platform === 'linux') {
    // Reads the command line, not /proc/<pid>/cwd: root in a container may not read another
    // account's cwd.
    const commandLine = await readProc(pid, 'cmdline')
    return commandLine?.split('\0').includes(dataDir) ?? false
  }
  if (!isSignalable(pid)) return false
  if (process.platform === 'win32') return true
  const ps = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
  return ps.stdout.includes(dataDir)
}

async function readProc(pid: number, file: string): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${pid}/${file}`, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ESRCH')) return undefined
    throw error
  }
}

function isSignalable(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    if (hasCode(error, 'ESRCH')) return false
    // It runs under another account.
    if (hasCode(error, 'EPERM')) return true
    throw error
  }
}
