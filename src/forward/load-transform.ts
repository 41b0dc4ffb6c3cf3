import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { loadModule } from '../input/load-module.ts'
import { HookonceError } from '../model/errors.ts'
import type { Transform } from './transform.ts'

/** The file of a transform, so that a thread can load it too. */
export interface TransformPlace {
  readonly file: string
  /** The path within the default export. Empty: the default export itself is the function. */
  readonly path: readonly string[]
}

/** The default export of a module. The path is relative to a directory. */
export function modulePlace(path: string, directory: string): TransformPlace {
  return { file: resolve(directory, path), path: [] }
}

export async function loadTransform({ file, path }: TransformPlace): Promise<Transform> {
  const found = path.length === 0 ? await importDefault(file) : memberAt(await loadModule(file), path)
  if (isTransform(found)) return found
  throw new HookonceError(
    'CONFIG_INVALID',
    path.length === 0
      ? `${file} has no function as its default export; write "export default (event) => ({ … })"`
      : `${file} has no function at ${path.join('.')}`,
  )
}

async function importDefault(file: string): Promise<unknown> {
  try {
    // The query string makes Node load a changed file again.
    const loaded: { readonly default?: unknown } = await import(
      `${pathToFileURL(file).href}?changed=${statSync(file).mtimeMs}`
    )
    return loaded.default
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new HookonceError('CONFIG_INVALID', `${file} cannot be loaded: ${why}`, { cause: error })
  }
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  )
}

function isTransform(value: unknown): value is Transform {
  return typeof value === 'function'
}
