import { randomBytes } from 'node:crypto'
import { closeSync, constants, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unusableDir } from '../ledger/embedded/home.ts'
import { HookonceError } from '../model/errors.ts'

/*
 * Secrets that `dev` makes at its first start and keeps under --dir. The folder may be one that
 * others write into, so no symbolic link in it is followed: it could lead a write, or what is taken
 * for a secret, anywhere.
 */

/** A secret of this folder. */
export function localSecret(dir: string, name: string): string {
  try {
    return secretIn(dir, name)
  } catch (error) {
    throw unusableDir(dir, error) ?? error
  }
}

function secretIn(dir: string, name: string): string {
  const path = join(dir, name)
  mkdirSync(dir, { recursive: true })
  // Before the first secret lies there.
  createFile(join(dir, '.gitignore'), '*\n')
  const secret = `whsec_${randomBytes(24).toString('base64')}`
  return createFile(path, `${secret}\n`) ? secret : readKept(path)
}

/** False if there is something of that name: a file, or a link to whatever. */
function createFile(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function readKept(path: string): string {
  const file = openKept(path)
  try {
    const secret = readFileSync(file, 'utf8').trim()
    if (secret !== '') return secret
  } finally {
    closeSync(file)
  }
  throw new HookonceError('CONFIG_INVALID', `${path} is empty: remove it, and the next start makes another`)
}

function openKept(path: string): number {
  try {
    // Undefined on Windows, where links need an administrator.
    return openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    if (codeOf(error) !== 'ELOOP') throw error
    throw new HookonceError(
      'CONFIG_INVALID',
      `${path} is a symbolic link, which is not followed: remove it, or choose another folder with --dir`,
    )
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
