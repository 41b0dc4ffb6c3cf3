import { createHash, randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, open, readdir, realpath, rename, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { HookonceError } from '../../model/errors.ts'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { type Home, hasCode, isThere, readSmallFile, removeIfThere, systemRoot } from './home.ts'
import { canReach, run } from './run.ts'

export const superuser = 'hookonce'

interface InitOptions {
  readonly binaries: Binaries
  readonly account: Account | undefined
  readonly password: string
}

/**
 * The real path of the data directory, if there is a complete one. Never changes anything else at
 * that path.
 */
export async function findDataDir(home: Home): Promise<string | undefined> {
  if (!(await isThere(home.data))) return undefined
  const dataDir = await follow(home)
  if ((await readSmallFile(join(dataDir, 'PG_VERSION'))) !== undefined) return dataDir
  if ((await readdir(dataDir)).length === 0) return undefined
  throw new HookonceError(
    'EMBEDDED_FAILED',
    `${dataDir} is not a PostgreSQL data directory (PG_VERSION is missing). Restore it, or move it away to start afresh.`,
  )
}

/** Refuses a data directory of another major version: this version cannot read its files. */
export async function checkMajor(dataDir: string, binaries: Binaries): Promise<void> {
  const made = await readSmallFile(join(dataDir, 'PG_VERSION'))
  if (made === String(binaries.major)) return
  throw new HookonceError(
    'EMBEDDED_FAILED',
    `${dataDir} was made by PostgreSQL ${made}, but this hookonce contains PostgreSQL ${binaries.major}. To keep the data, dump it with the hookonce that made it (pg_dump) and restore it here; to start afresh, move the directory away.`,
  )
}

/**
 * Creates the data directory under a temporary name, and renames it when it is complete and on
 * disk. If a start is killed midway, only the temporary directory is left, which the next start
 * removes.
 */
export async function makeDataDir(home: Home, options: InitOptions): Promise<string> {
  const inHome = await canReach(options.account, [home.dir])
  const prefix = inHome ? home.data : await systemPrefix(home)
  await removeTemporary(prefix)
  const unique = randomBytes(6).toString('hex')
  const temporary = `${prefix}.tmp-${unique}`
  try {
    await initialise(temporary, options)
  } catch (error) {
    await removeTemporary(prefix)
    throw error
  }
  if (inHome) {
    await rename(temporary, home.data)
  } else {
    // Unique, so that a new home at an old path starts afresh, and existing data is never
    // overwritten.
    await rename(temporary, `${prefix}-${unique}`)
    await syncDirectory(systemRoot)
    await symlink(`${prefix}-${unique}`, home.data)
  }
  await syncDirectory(home.dir)
  return realpath(home.data)
}

/**
 * Sets a new password in a data directory without a running server, because the password file was
 * lost.
 */
export async function resetPassword(dataDir: string, options: InitOptions): Promise<void> {
  await runSql(dataDir, options, `alter role ${superuser} password '${options.password}'`)
}

async function initialise(dataDir: string, options: InitOptions): Promise<void> {
  await mkdir(dataDir, { mode: 0o700 })
  const passwordFile = `${dataDir}.password`
  await writeFile(passwordFile, options.password, { flag: 'wx', mode: 0o600 })
  if (options.account !== undefined) {
    await chown(passwordFile, options.account.uid, options.account.gid)
    await chown(dataDir, options.account.uid, options.account.gid)
  }
  await run(initdbCommand(dataDir, passwordFile, options.binaries), options)
  await removeIfThere(passwordFile)
  await runSql(dataDir, options, 'create database hookonce')
}

function initdbCommand(dataDir: string, passwordFile: string, binaries: Binaries): [string, ...string[]] {
  const access = [`--username=${superuser}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
  // The built-in C.UTF-8 sorts the same on every platform, whatever locales the system has.
  const text = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
  const settings = ['-c', 'max_connections=100', '-c', 'shared_buffers=128MB']
  return [binaries.initdb, '-D', dataDir, ...access, ...text, ...settings, '--no-instructions']
}

/** Runs one statement in single-user mode, without network. */
async function runSql(dataDir: string, options: InitOptions, sql: string): Promise<void> {
  const settings = ['-c', 'exit_on_error=on', '-c', 'log_checkpoints=off']
  const command = [options.binaries.postgres, '--single', '-D', dataDir, ...settings, 'postgres'] as const
  await run(command, { account: options.account, input: `${sql};\n` })
}

async function systemPrefix(home: Home): Promise<string> {
  await mkdir(systemRoot, { recursive: true })
  await chmod(systemRoot, 0o755)
  const path = await realpath(home.dir)
  return join(systemRoot, createHash('sha256').update(path).digest('hex').slice(0, 16))
}

/**
 * Safe under the start lock: no other process creates this data directory, and a complete one has
 * another name.
 */
async function removeTemporary(prefix: string): Promise<void> {
  for (const name of await readdir(dirname(prefix))) {
    if (name.startsWith(`${basename(prefix)}.tmp-`)) await removeIfThere(join(dirname(prefix), name))
  }
}

async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory, and makes renames durable by itself.
  if (process.platform === 'win32') return
  const directory = await open(path)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

async function follow(home: Home): Promise<string> {
  try {
    return await realpath(home.data)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    throw new HookonceError(
      'EMBEDDED_FAILED',
      `${home.data} points to a data directory that is gone. Restore it, or remove the link to start afresh.`,
      { cause: error },
    )
  }
}
