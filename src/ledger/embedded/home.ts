import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import {
  chown,
  type FileHandle,
  lchown,
  lstat,
  mkdir,
  open,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { HookonceError } from '../../model/errors.ts'

/**
 * The directory of root's embedded servers: the unprivileged account cannot reach root's own
 * directories.
 */
export const systemRoot = '/var/lib/hookonce'

/** The directory of one embedded server, and its files. */
export interface Home {
  readonly dir: string
  /** The data directory, or a symbolic link to it. */
  readonly data: string
  readonly log: string
  readonly password: string
  readonly port: string
  readonly lock: string
}

// A dev server that runs for weeks should not fill the disk with its log. At a start, a larger log
// is renamed to postgres.log.1, so there are two at most.
const maxLogBytes = 10 * 1024 * 1024

export async function openHome(path: string): Promise<Home> {
  const dir = resolve(path)
  const created = await mkdir(dir, { recursive: true })
  if (created !== undefined) await giveToSudoUser(dir)
  await keepOutOfGit(dir)
  return {
    dir,
    data: join(dir, 'postgres'),
    log: join(dir, 'postgres.log'),
    password: join(dir, 'password'),
    port: join(dir, 'port'),
    lock: join(dir, 'lock'),
  }
}

/** The directory holds a password and a database, which must not be committed to a repository. */
async function keepOutOfGit(dir: string): Promise<void> {
  try {
    await writeFile(join(dir, '.gitignore'), '*\n', { flag: 'wx' })
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

/**
 * Undefined if there is none. Does not follow a symbolic link: root may be reading in another
 * user's directory.
 */
export async function readSmallFile(path: string): Promise<string | undefined> {
  try {
    return (await readUnlinked(path)).toString('utf8').trim()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

async function readUnlinked(path: string): Promise<Buffer> {
  // Undefined on Windows, where creating links needs an administrator.
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch((error) => {
    throw hasCode(error, 'ELOOP') ? linkRefused(path, error) : error
  })
  try {
    return await file.readFile()
  } finally {
    await file.close()
  }
}

function linkRefused(path: string, cause: unknown): HookonceError {
  const advice = 'remove it, or choose another folder'
  return new HookonceError(
    'EMBEDDED_FAILED',
    `${path} is a symbolic link, which is not followed: ${advice}`,
    { cause },
  )
}

/** Writes a file of the home atomically, readable only by its owner. */
export async function writeSmallFile(home: Home, path: string, text: string): Promise<void> {
  const temporary = `${path}.new-${randomBytes(6).toString('hex')}`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(`${text}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await giveToOwner(home, temporary)
  await rename(temporary, path)
}

/** Opens the server's log for appending; `from` is where the lines of this start begin. */
export async function openLog(home: Home): Promise<{ file: FileHandle; from: number }> {
  const before = await sizeOf(home.log)
  if (before > maxLogBytes) await rename(home.log, `${home.log}.1`)
  // NOFOLLOW: root may be writing into another user's directory.
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW
  const file = await open(home.log, flags, 0o600)
  await giveToOwner(home, home.log)
  return { file, from: (await file.stat()).size }
}

/** The last lines of the server's log since `from`. */
export async function logSince(home: Home, from: number): Promise<string> {
  const log = await readUnlinked(home.log)
  return lastLines(log.subarray(from).toString('utf8'))
}

export function lastLines(text: string): string {
  // 15 lines hold the FATAL, its DETAIL and HINT and the lines before it, and still fit on a
  // screen.
  return text.trimEnd().split('\n').slice(-15).join('\n')
}

export async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}

export async function removeIfThere(path: string): Promise<void> {
  // Retries, because an initdb whose parent was killed may still be writing for a moment.
  await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
  )
}

/**
 * An error that names the folder, if it cannot be created or written; undefined for any other
 * error.
 */
export function unusableDir(dir: string, error: unknown): HookonceError | undefined {
  if (!hasCode(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOENT', 'ENOSPC')) return undefined
  const reason = error instanceof Error ? error.message : String(error)
  return new HookonceError(
    'DIR_UNUSABLE',
    `the folder ${resolve(dir)} cannot be used (${reason}): choose one that can be written with \`dir\` (--dir), or set DATABASE_URL`,
    { cause: error },
  )
}

export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** The user behind sudo, if there is one. */
export function sudoUser(): { uid: number; gid: number } | undefined {
  const uid = Number(process.env.SUDO_UID)
  const gid = Number(process.env.SUDO_GID)
  return Number.isInteger(uid) && Number.isInteger(gid) && uid > 0 ? { uid, gid } : undefined
}

/** A home created under sudo belongs to that user, so that the next start needs no sudo. */
async function giveToSudoUser(dir: string): Promise<void> {
  const user = isRoot() ? sudoUser() : undefined
  if (user !== undefined) await chown(dir, user.uid, user.gid)
}

/**
 * Files that root writes into another user's home belong to its owner, because the next start may
 * be without root.
 */
async function giveToOwner(home: Home, path: string): Promise<void> {
  if (!isRoot()) return
  const owner = await stat(home.dir)
  await lchown(path, owner.uid, owner.gid)
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0
    throw error
  }
}
