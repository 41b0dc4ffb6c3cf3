import { randomBytes } from 'node:crypto'
import { closeSync, constants, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unusableDir } from '../ledger/embedded/home.ts'
import { HookonceError } from '../model/errors.ts'

/*
 * Secrets that `dev` creates at its first start and stores under --dir. Other users may be able to
 * write into that folder, so symbolic links in it are not followed: a link could redirect a write,
 * or make any file the secret.
 */

/** Reads a secret of this folder. Creates it if it does not exist. */
export function localSecret(dir: string, name: string): string {
  return usingDir(dir, () => secretIn(dir, name))
}

/** Undefined: the folder has no secret of this name. */
export function existingSecret(dir: string, name: string): string | undefined {
  return usingDir(dir, () => (existsSync(join(dir, name)) ? readSecret(join(dir, name)) : undefined))
}

/** Creates the folder, with a `.gitignore` in it. */
export function prepareDir(dir: string): void {
  usingDir(dir, () => {
    mkdirSync(dir, { recursive: true })
    createFile(join(dir, '.gitignore'), '*\n')
  })
}

/** If a folder cannot be used, the error names it. */
export function usingDir<Result>(dir: string, use: () => Result): Result {
  try {
    return use()
  } catch (error) {
    throw unusableDir(dir, error) ?? error
  }
}

function secretIn(dir: string, name: string): string {
  const path = join(dir, name)
  // The `.gitignore` is written before the first secret.
  prepareDir(dir)
  const secret = `whsec_${randomBytes(24).toString('base64')}`
  return createFile(path, `${secret}\n`) ? secret : readSecret(path)
}

/** False: a file or a link of that name exists. */
function createFile(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function readSecret(path: string): string {
  const file = openSecret(path)
  try {
    const secret = readFileSync(file, 'utf8').trim()
    if (secret !== '') return secret
  } finally {
    closeSync(file)
  }
  throw new HookonceError(
    'CONFIG_INVALID',
    `${path} is empty: remove it, and the next start creates a new one`,
  )
}

function openSecret(path: string): number {
  try {
    // O_NOFOLLOW is undefined on Windows, where only an administrator can create links.
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
