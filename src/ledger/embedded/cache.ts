import { chmod, lstat, mkdir, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { isRoot, systemRoot } from './home.ts'

/** The cache of fetched programs, for all projects of an account. */
export function cacheDir(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  if (env.HOOKONCE_CACHE) return resolve(env.HOOKONCE_CACHE)
  if (platform === 'win32')
    return join(env.LOCALAPPDATA || join(homedir(), 'AppData', 'Local'), 'hookonce', 'cache')
  // The XDG specification requires that a relative path is ignored.
  if (env.XDG_CACHE_HOME && isAbsolute(env.XDG_CACHE_HOME)) return join(env.XDG_CACHE_HOME, 'hookonce')
  // As root, the server runs as another account, which may not enter root's home.
  if (isRoot()) return systemRoot
  return platform === 'darwin'
    ? join(homedir(), 'Library', 'Caches', 'hookonce')
    : join(homedir(), '.cache', 'hookonce')
}

/**
 * Creates the cache, accessible to the server's account whatever our umask is. An existing cache
 * keeps its mode.
 */
export async function makeCache(dir: string): Promise<void> {
  const created = await mkdir(dir, { recursive: true, mode: 0o755 })
  if (created !== undefined) await chmod(dir, 0o755)
}

/**
 * Why a folder of the cache cannot be trusted; undefined if only we and root can have written to
 * it. npm checks the integrity when it fetches, not at each start, so no other account may have
 * write access.
 */
export async function whyUntrusted(path: string): Promise<string | undefined> {
  const uid = process.getuid?.()
  // Windows uses access lists, which the folder inherits from the user's profile.
  if (uid === undefined) return undefined
  const found = await lstat(path)
  if (found.isSymbolicLink()) return `${path} is a symbolic link`
  if (!found.isDirectory()) return `${path} is not a folder`
  if (found.uid !== uid && found.uid !== 0) return `${path} belongs to another account (${found.uid})`
  if ((found.mode & 0o022) !== 0) return `${path} can be written by other accounts`
  return whyReplaceable(await realpath(path))
}

/** In a folder that everybody can write to and that has no sticky bit, anyone can replace it. */
async function whyReplaceable(path: string): Promise<string | undefined> {
  const parent = dirname(path)
  if (parent === path) return undefined
  const { mode } = await stat(parent)
  if ((mode & 0o1002) === 0o0002) return `${parent} can be written by every account`
  return whyReplaceable(parent)
}
