import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { NEEDS_LINUX_X64 } from '../support/declared-skips.ts'
import { output } from './support/command.ts'

/* The modules that the entries of the installed package load, measured in a real process. */

const root = join(import.meta.dirname, '..', '..')
const node = join(import.meta.dirname, 'node_modules/node-24/bin/node')
const BUDGETS = 'test/packaging/budgets.json'
/** An entry uses at least this share of its budget: a larger budget would hide a new import. */
const LEAST_USE = 0.8

interface Loaded {
  readonly files: Record<string, string>
  readonly imports: readonly (readonly [string | undefined, string])[]
}

async function loadedBy(entries: readonly string[]): Promise<Loaded> {
  const cwd = inject('installedApp')
  const script = join(import.meta.dirname, 'support/loaded-modules.mjs')
  return JSON.parse(await output([node, script, cwd, root, ...entries], { cwd })) as Loaded
}

interface Entry {
  readonly modules: number
  readonly kilobytes: number
  readonly packages: readonly string[]
}

/** The files that each file imports. */
function importsOf({ imports }: Loaded): Map<string | undefined, string[]> {
  const targets = new Map<string | undefined, string[]>()
  for (const [from, to] of imports) targets.set(from, [...(targets.get(from) ?? []), to])
  return targets
}

/** The modules that an entry loads, alone. */
function sizeOf(file: string | undefined, imports: Map<string | undefined, string[]>): Entry {
  const loaded = new Set([String(file)])
  // A set may grow while it is iterated.
  for (const from of loaded) for (const to of imports.get(from) ?? []) loaded.add(to)
  const own = [...loaded].filter((file) => file.includes('/node_modules/hookonce/dist/'))
  const bytes = own.reduce((sum, file) => sum + statSync(fileURLToPath(file)).size, 0)
  const others = [...loaded].map(packageOf).filter((name) => DIRECT.has(name))
  return { modules: own.length, kilobytes: Math.ceil(bytes / 1000), packages: [...new Set(others)].sort() }
}

/** The package of a file: `pg-types`, `@nestjs/common`. */
function packageOf(file: string): string {
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? file
}

/** The direct dependencies of hookonce. Each brings its own dependencies. */
const DIRECT = new Set(Object.keys(packageJson().dependencies))

function packageJson(): { dependencies: object; exports: Record<string, unknown> } {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
}

const named = Object.keys(packageJson().exports)
  .filter((path) => !path.includes('*') && !path.endsWith('.json'))
  .map((path) => `hookonce${path.slice(1)}`)
const providers = readdirSync(join(root, 'dist/sources/catalogue'))
  .filter((file) => file.endsWith('.js') && file !== 'index.js')
  .map((file) => `hookonce/sources/${file.slice(0, -3)}`)

test.for(['hookonce/keys', 'hookonce/sources'])(
  '%s loads neither pg nor the server',
  async (entry, context) => {
    if (!existsSync(node)) return context.skip(NEEDS_LINUX_X64)
    const { imports } = await loadedBy([entry])
    const loaded = imports.map(([, file]) => file)
    expect(loaded.some((file) => file.endsWith('/dist/model/errors.js'))).toBe(true)
    expect(loaded.filter((file) => /\/node_modules\/pg\b/.test(file))).toEqual([])
    const server = /\/dist\/(ledger|engine|gateway|receive|process|publish|upkeep|operate|cli|hookonce)[./]/
    expect(loaded.filter((file) => server.test(file))).toEqual([])
  },
)

test(`each entry stays within its budget in ${BUDGETS}`, async (context) => {
  if (!existsSync(node)) return context.skip(NEEDS_LINUX_X64)
  const all = await loadedBy([...named, ...providers])
  const imports = importsOf(all)
  const size = (entry: string): Entry => sizeOf(all.files[entry], imports)
  const largest = providers.map(size).sort((a, b) => b.kilobytes - a.kilobytes)[0]
  const measured = new Map(named.map((entry) => [entry, size(entry)]))
  if (largest) measured.set('hookonce/sources/<provider>', largest)
  const lines = [...measured].map(([entry, { modules, kilobytes, packages }]) =>
    [`| \`${entry}\``, modules, kilobytes, `${packages.join(', ')} |`].join(' | '),
  )
  process.stdout.write(`${lines.join('\n')}\n`)

  const budgets = JSON.parse(readFileSync(join(root, BUDGETS), 'utf8')) as Record<string, Entry>
  expect(Object.keys(budgets).sort()).toEqual([...measured.keys()].sort())
  for (const [entry, budget] of Object.entries(budgets)) {
    const real = measured.get(entry)
    expect(real?.modules, `modules of ${entry}`).toBeLessThanOrEqual(budget.modules)
    expect(real?.kilobytes, `kB of ${entry}`).toBeLessThanOrEqual(budget.kilobytes)
    expect(real?.kilobytes, `a lower budget for ${entry}`).toBeGreaterThan(LEAST_USE * budget.kilobytes - 1)
    expect(real?.packages, `packages of ${entry}`).toEqual(budget.packages)
  }
})
