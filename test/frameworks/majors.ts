import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/*
 * The current majors of the frameworks are those of the root, the previous ones those of
 * `previous/`. The tests use what both have in common, so the types are those of the current ones.
 */
export type Major = 'current' | 'previous'

const CURRENT = createRequire(join(import.meta.dirname, '..', '..', 'package.json'))
const PREVIOUS = createRequire(join(import.meta.dirname, 'previous', 'package.json'))

/** A package, as `import()` returns it. */
export function load<Module>(major: Major, name: string): Promise<Module> {
  const { resolve } = major === 'current' ? CURRENT : PREVIOUS
  return import(pathToFileURL(resolve(name)).href)
}

/** Of `previous/`, whatever the major of the framework is. */
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
