import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/* What contributors read and run names files, and files are renamed. */

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const recipes = ['CONTRIBUTING.md', 'docs/upgrades.md']

/** Programs write these folders, and git ignores them. */
const WRITTEN = ['site/.vitepress/dist/', 'test/browser/screenshots/']

test.each(recipes)('the files that %s names exist', (document) => {
  const PATH = /`((?:src|test|docs|scripts|site|examples|deploy|dashboard|bench|\.github)\/[^`\s]*)`/g
  const named = [...read(document).matchAll(PATH)].map(([, path = '']) => path)
  // `<name>` stands for a name that the reader chooses.
  const missing = named.filter(
    (path) => !(path.includes('<') || WRITTEN.includes(path) || existsSync(join(root, path))),
  )
  expect(named.length).toBeGreaterThan(10)
  expect(missing).toEqual([])
})

test.each(recipes)('what %s finds in a file is declared there', (document) => {
  const IN_FILE = /((?:`\w+`(?:,| and)?\s+)+)in\s+`(src\/[^`\s<]+\.ts)`/g
  const declared = [...read(document).matchAll(IN_FILE)].flatMap(([, names = '', path = '']) =>
    [...names.matchAll(/\w+/g)].filter(([name]) => name !== 'and').map(([name]) => ({ name, path })),
  )
  const missing = declared.filter(
    ({ name, path }) => !new RegExp(`\\b(?:const|function|interface|type) ${name}\\b`).test(read(path)),
  )
  expect(declared).not.toEqual([])
  expect(missing).toEqual([])
})

test('test:quick runs one file for each name in its list', () => {
  const files = readdirSync(join(root, 'test/scenarios'), { recursive: true, encoding: 'utf8' })
  const [, list = ''] = /^const QUICK = \[([^\]]*)\]/m.exec(read('vitest.quick.config.ts')) ?? []
  const names = [...list.matchAll(/'([\w-]+)'/g)].map(([, name]) => name)
  const found = names.map((name) => ({
    name,
    files: files.filter((file) => file.endsWith(`/${name}.test.ts`)).length,
  }))
  expect(found).not.toEqual([])
  expect(found).toEqual(names.map((name) => ({ name, files: 1 })))
})
