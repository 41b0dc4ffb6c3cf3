import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

/* The types of the installed package, with the compilers and the resolutions of its users. */

const root = join(import.meta.dirname, '..', '..')
const project = mkdtempSync(join(tmpdir(), 'hookonce-types-'))
afterAll(() => rmSync(project, { recursive: true, force: true }))

const compilers = {
  5: join(import.meta.dirname, 'node_modules/typescript-5'),
  6: join(import.meta.dirname, 'node_modules/typescript-6'),
  7: join(root, 'node_modules/typescript'),
}
type Major = keyof typeof compilers

const resolutions = {
  node16: { module: 'node16', moduleResolution: 'node16' },
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
}
type Resolution = keyof typeof resolutions

/** Entries that are not JavaScript have no types. */
const entries = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => `hookonce${path.slice(1).replace('*', 'stripe')}`)

/** Finds names of a module whose type is `any`: their declaration was not found. */
const ANY = `
type IsAny<T> = 0 extends 1 & T ? true : false
type AnyOf<M> = { [K in keyof M]: IsAny<M[K]> extends true ? K : never }[keyof M]
export function allTyped<M>(..._: [AnyOf<M>] extends [never] ? [] : [any: AnyOf<M>]): void {}
`

beforeAll(() => {
  // The optional packages come from the repository, hookonce from the installation.
  mkdirSync(join(project, 'node_modules'))
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== 'hookonce')
      symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
  symlinkSync(join(inject('installedApp'), 'node_modules/hookonce'), join(project, 'node_modules/hookonce'))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(
    join(project, 'entries.ts'),
    `${ANY}${entries.map((entry) => `allTyped<typeof import('${entry}')>()\n`).join('')}`,
  )
  for (const guide of ['charge-once.ts', 'email-once.ts', 'many-tenants.ts', 'out-of-order.ts'])
    copyFileSync(join(root, 'examples/guides', guide), join(project, guide))
})

const STRICT = { target: 'es2023', strict: true, noEmit: true }

/** The errors of a compilation, as the compiler prints them. */
function compile(major: Major, resolution: Resolution, more: object = {}): string {
  const compilerOptions = {
    ...STRICT,
    ...resolutions[resolution],
    skipLibCheck: true,
    preserveSymlinks: true,
    types: ['node'],
    ...more,
  }
  const config = join(project, `tsconfig.${major}.${resolution}.json`)
  writeFileSync(config, JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  return tsc(major, config)
}

function tsc(major: Major, config: string): string {
  const args = [join(compilers[major], 'bin/tsc'), '-p', config, '--pretty', 'false']
  return spawnSync(process.execPath, args, { encoding: 'utf8', cwd: dirname(config) }).stdout
}

const isFull = process.env.HOOKONCE_PACKAGING === 'all'

/**
 * Each compiler and each resolution once: a compilation by TypeScript 5 or 6 takes several seconds.
 */
const some: [Major, Resolution][] = [
  [5, 'node16'],
  [6, 'bundler'],
  [7, 'nodenext'],
]
const all = ([5, 6, 7] as const).flatMap((major) =>
  (['node16', 'nodenext', 'bundler'] as const).map((resolution): [Major, Resolution] => [major, resolution]),
)

test.each(isFull ? all : some)('TypeScript %i finds the types of every entry by %s', (major, resolution) => {
  const { version } = JSON.parse(readFileSync(join(compilers[major], 'package.json'), 'utf8'))
  expect(version).toMatch(new RegExp(`^${major}\\.`))
  expect(compile(major, resolution)).toBe('')
})

test('a missing declaration is noticed', () => {
  writeFileSync(
    join(project, 'wrong.ts'),
    `import { allTyped } from './entries.js'\nallTyped<{ one: any }>()\n`,
  )
  expect(compile(7, 'bundler')).toMatch(/^wrong\.ts\(2,1\): error TS2554/)
  rmSync(join(project, 'wrong.ts'))
})

/** The entries that need no optional package: those of frameworks and database libraries have theirs. */
const alone = entries.filter(
  (entry) => !/\/(adapters|keys\/(express|fastify|hono|koa|nestjs|next)|testing\/\w+)/.test(entry),
)

test.each(isFull ? ([5, 6, 7] as const) : ([7] as const))(
  'TypeScript %i checks every declaration with only the packages that npm has installed',
  { timeout: 600_000 },
  (major) => {
    const app = mkdtempSync(join(inject('installedApp'), 'types-'))
    writeFileSync(join(app, 'package.json'), '{ "type": "module" }')
    writeFileSync(
      join(app, 'app.ts'),
      `${ANY}${alone.map((entry) => `allTyped<typeof import('${entry}')>()\n`).join('')}
import type { Transaction } from 'hookonce'
// Types that were not found are any, and any hides every mistake.
export const wrong = async (tx: Transaction): Promise<void> => {
  const result = await tx.query('select 1')
  // @ts-expect-error: a result has no such field
  result.row
}
`,
    )
    const compilerOptions = { ...STRICT, ...resolutions.nodenext, skipLibCheck: false, types: ['node'] }
    writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    expect(alone).toContain('hookonce/keys')
    expect(tsc(major, join(app, 'tsconfig.json'))).toBe('')
  },
)

if (isFull)
  test('no declaration of hookonce has an error, even if all libraries are checked', () => {
    const errors = compile(7, 'node16', { skipLibCheck: false }).split('\n')
    expect(errors.filter((line) => line.includes('node_modules/hookonce/'))).toEqual([])
  })
