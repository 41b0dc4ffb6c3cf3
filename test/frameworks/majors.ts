import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/*
 * The current majors of the frameworks are those of the root, the previous majors those of
 * `previous/`. The tests use only the common parts, so they use the types of the current majors.
 */
export type Major = 'current' | 'previous'

const CURRENT = createRequire(join(import.meta.dirname, '..', '..', 'package.json'))
const PREVIOUS = createRequire(join(import.meta.dirname, 'previous', 'package.json'))

/** A package, as `import()` returns it. */
export function load<Module>(major: Major, name: string): Promise<Module> {
  const { resolve } = major === 'current' ? CURRENT : PREVIOUS
  return import(pathToFileURL(resolve(name)).href)
}

/** A package of `previous/`, independent of the major of the framework. */
export function loadParser<Module>(name: string): Promise<Module> {
  return load('previous', name)
}

export async function versionOf(major: Major, name: string): Promise<number> {
  const { resolve } = major === 'current' ? CURRENT : PREVIOUS
  const found = resolve.paths(name)?.find((folder) => folder.endsWith('node_modules'))
  const { default: manifest } = await import(pathToFileURL(join(found ?? '', name, 'package.json')).href, {
    with: { type: 'json' },
  })
  return Number.parseInt(manifest.version, 10)
}
