import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { inject, onTestFinished } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
/** The packages of all examples, except Next.js. */
export const PACKAGES = join(import.meta.dirname, 'packages')

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export const exampleFolder = (name: string): string => join(ROOT, 'examples', name)

/** The dependencies of a manifest, including development, with their ranges. */
export function dependenciesOf(folder: string): Record<string, string> {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  return { ...manifest.dependencies, ...manifest.devDependencies }
}

/**
 * A copy of an example in an empty folder. Its node_modules has hookonce as npm installed it from
 * the tarball, and links to the packages in its manifest, so a missing dependency fails.
 */
export function copiedExample(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `hookonce-${name}-`))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(exampleFolder(name), folder, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) })
  const modules = join(folder, 'node_modules')
  // Hard links: the tarball has two thousand files.
  execFileSync('cp', ['-al', join(inject('tarballFolder'), 'node_modules'), modules])
  for (const dependency of Object.keys(dependenciesOf(folder))) {
    const link = join(modules, dependency)
    const target = join(PACKAGES, 'node_modules', dependency)
    if (existsSync(link) || !existsSync(target)) continue
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(target, link)
    linkCommands(target, modules)
  }
  return folder
}

/** Files that a trial leaves in the folder of an example. */
const LEFT_OUT = new Set(['node_modules', '.hookonce', '.next'])

/** Like npm, so that scripts of the manifest find `vitest` and `tsc`. */
function linkCommands(target: string, modules: string): void {
  const { name, bin = {} } = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly bin?: string | Readonly<Record<string, string>>
  }
  const commands = typeof bin === 'string' ? { [basename(name)]: bin } : bin
  for (const [command, file] of Object.entries(commands))
    symlinkSync(join(target, file), join(modules, '.bin', command))
}
