import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, isAbsolute, join } from 'node:path'
import type { Account } from './account.ts'
import { cacheDir } from './cache.ts'
import { copyReadable, renameUnlessThere } from './copy.ts'
import { type FetchOptions, fetchedPackage } from './fetch.ts'
import { hasCode, isThere } from './home.ts'
import { makeLinks } from './library-links.ts'
import { type ServerPackage, serverPackageFor } from './packages.ts'
import { canReach } from './run.ts'

/** The PostgreSQL programs of this platform, from its npm package or a copy of it. */
export interface Binaries {
  /** The directory that holds `native/`. */
  readonly root: string
  readonly version: string
  readonly major: number
  readonly initdb: string
  readonly postgres: string
}

/**
 * Finds the programs for a platform and architecture, named as in `process.platform` and
 * `process.arch`: in an installed package, else in the cache. The cache fetches them once.
 */
export async function binariesFor(
  platform: string,
  arch: string,
  options: Pick<FetchOptions, 'onNotice'> = {},
): Promise<Binaries> {
  const wanted = serverPackageFor(platform, arch)
  const installed = await installedBinaries(wanted)
  if (installed !== undefined) return installed
  return fetchedBinaries({ wanted, cache: cacheDir(process.env, process.platform), ...options })
}

/** From the cache, which fetches them once. */
export async function fetchedBinaries(options: FetchOptions): Promise<Binaries> {
  return at(await fetchedPackage(options), options.wanted.version)
}

/**
 * A package that the user installed, beside hookonce or beside the running program. Ignores another
 * major version, which could not read our data.
 */
export async function installedBinaries(
  { name, version }: ServerPackage,
  places: readonly string[] = besideUs(),
): Promise<Binaries | undefined> {
  for (const place of places) {
    const root = resolvedRoot(name, place)
    if (root === undefined) continue
    const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    const found = at(root, String(manifest.version))
    if (found.major === majorOf(version)) return found
  }
  return undefined
}

/** pnpm may keep hookonce in a store of the machine, from where the user's project is not found. */
function besideUs(): string[] {
  const main = process.argv[1]
  return [import.meta.url, ...(main !== undefined && isAbsolute(main) ? [main] : [])]
}

function resolvedRoot(name: string, place: string): string | undefined {
  try {
    // The package exports only dist/index.js.
    return dirname(dirname(createRequire(place).resolve(name)))
  } catch (error) {
    if (hasCode(error, 'MODULE_NOT_FOUND')) return undefined
    throw error
  }
}

function majorOf(version: string): number {
  return Number.parseInt(version, 10)
}

function at(root: string, version: string): Binaries {
  const program = (name: string) =>
    join(root, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name)
  return {
    root,
    version,
    major: majorOf(version),
    initdb: program('initdb'),
    postgres: program('postgres'),
  }
}

/**
 * Makes the programs runnable for the account: in place if possible, else as a copy under
 * `copyRoot` (if node_modules is read-only, or inaccessible to the account).
 */
export async function prepareBinaries(
  found: Binaries,
  use: { account: Account | undefined; copyRoot: string },
): Promise<Binaries> {
  const complete = await makeLinks(found.root)
  if (complete && (await canReach(use.account, reachedPaths(found)))) return found
  const copy = at(join(use.copyRoot, `postgresql-${found.version}`), found.version)
  if (!(await isThere(copy.root))) await copyTo(copy.root, found)
  return copy
}

async function copyTo(destination: string, found: Binaries): Promise<void> {
  // Opens the directory to the account if we created it, whatever our umask is. An existing
  // directory keeps its mode.
  const created = await mkdir(dirname(destination), { recursive: true })
  if (created !== undefined) await chmod(dirname(destination), 0o755)
  const temporary = `${destination}.tmp-${randomBytes(6).toString('hex')}`
  await copyReadable(join(found.root, 'native'), join(temporary, 'native'))
  await makeLinks(temporary)
  await renameUnlessThere(temporary, destination)
}

function reachedPaths(binaries: Binaries): string[] {
  const directories = ['lib', 'lib/postgresql', 'share/postgresql']
  return [
    binaries.initdb,
    binaries.postgres,
    ...directories.map((directory) => join(binaries.root, 'native', directory)),
  ]
}
