import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { HookonceError } from '../../model/errors.ts'

/** File names under which a configuration is found. The last name is from earlier versions. */
const CONFIG_FILES = [
  ...['ts', 'mjs', 'js', 'json', 'yaml', 'yml'].map((ending) => `hookonce.config.${ending}`),
  'hookonce.json',
]

/** The configuration file in this folder. Undefined if there is none. */
export function findConfigFile(folder = '.'): string | undefined {
  const found = CONFIG_FILES.filter((name) => existsSync(join(folder, name)))
  if (found.length <= 1) return found[0]
  throw new HookonceError(
    'CONFIG_INVALID',
    `there are several configuration files: ${found.join(', ')}; keep one, or choose one with --config`,
  )
}

/** The named file, or the file in the working directory. */
export function requireConfigFile(named: string | undefined): string {
  const file = named ?? findConfigFile()
  if (file !== undefined) return file
  throw new HookonceError(
    'CONFIG_INVALID',
    'there is no hookonce.config.json (or .yaml, .ts, .mjs, .js) in this folder: write one, or name a file with --config',
  )
}
