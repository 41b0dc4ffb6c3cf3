import { existsSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HookonceError } from '../model/errors.ts'

/*
 * Loads a configuration that is a module: JavaScript, or TypeScript. Node.js 22.18 and later load
 * TypeScript by themselves. Earlier versions use jiti, if it is installed.
 */

/** Node.js caches every loaded module under its URL. A new URL makes it read the file again. */
let loaded = 0

export async function loadModule(file: string): Promise<unknown> {
  const path = resolve(file)
  if (!existsSync(path))
    throw new HookonceError('CONFIG_INVALID', `${file} cannot be read; pass another file with --config`)
  const module = await importFile(file, path).catch((error) => {
    if (error instanceof HookonceError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new HookonceError('CONFIG_INVALID', `${file} cannot be loaded: ${reason}`, { cause: error })
  })
  if (module.default === undefined)
    throw new HookonceError('CONFIG_INVALID', `${file} has no default export: write export default { … }`)
  return module.default
}

type Module = { readonly default?: unknown }

async function importFile(file: string, path: string): Promise<Module> {
  const isTypeScript = extname(path) === '.ts' || extname(path) === '.mts'
  if (isTypeScript && !loadsTypeScript()) return importByJiti(file, path)
  loaded += 1
  return import(`${pathToFileURL(path).href}?loaded=${loaded}`)
}

function loadsTypeScript(): boolean {
  return 'typescript' in process.features && Boolean(process.features.typescript)
}

async function importByJiti(file: string, path: string): Promise<Module> {
  const { createJiti } = await import(/* webpackIgnore: true */ 'jiti').catch((error) => {
    throw new HookonceError(
      'CONFIG_INVALID',
      `${file}: Node.js ${process.versions.node} does not load TypeScript: run \`npm install jiti\`, use Node.js 22.18 or later, or write the configuration as .mjs, .yaml or .json`,
      { cause: error },
    )
  })
  // jiti without its caches reads a changed file again.
  return createJiti(import.meta.url, { fsCache: false, moduleCache: false }).import<Module>(path)
}
