import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/*
 * The allowed imports. A folder may import itself and the folders in its row, nothing else. Stages
 * (receive, process, publish, forward, upkeep) are in no other stage's row: they meet in the
 * ledger. `delivery` is the front half that receive and inline share. ARCHITECTURE.md describes
 * each folder.
 */
const ALLOWED: Readonly<Record<string, string>> = {
  model: '',
  input: 'model',
  sql: 'model',
  http: 'model',
  sources: 'model input',
  reconcile: 'model input http',
  ledger: 'model sql',
  observe: 'model input ledger',
  work: 'model ledger observe',
  effects: 'model input sql http ledger observe',
  publishers: 'input http sources',
  keys: 'model input sql http observe work',
  alerts: 'model input http ledger publishers',
  delivery: 'model http observe sources',
  mounts: 'model http delivery',
  inline: 'model input http observe sources keys delivery mounts',
  receive: 'model input http observe work ledger sources delivery',
  process: 'model input observe work ledger effects sources',
  publish: 'model observe work ledger publishers',
  forward: 'model input http observe sources',
  upkeep: 'observe ledger alerts',
  operate: 'model input sql observe ledger effects sources reconcile receive upkeep alerts',
  prove: 'model input sources',
  'options.ts': 'model input observe alerts publishers receive sources',
  'subscription.ts': 'model input options.ts process sources',
  engine:
    'model input http options.ts subscription.ts observe work ledger alerts delivery receive process publish upkeep operate inline',
  'hookonce.ts': 'model options.ts engine observe ledger sources mounts process reconcile operate inline',
  testing:
    'model input observe ledger sources keys effects process upkeep operate options.ts engine hookonce.ts gateway',
  gateway: 'model input http observe work sources alerts forward operate keys options.ts hookonce.ts',
  client: 'gateway',
  mcp: 'input gateway client',
  cli: 'model input http node-version.ts observe ledger sources reconcile operate keys forward gateway client mcp prove options.ts hookonce.ts',
}
/** Entries of the package, and the check of the Node version that each of them runs first. */
const ENTRIES = /^(index\.ts|\w+\/index\.ts|cli\/bin\.ts|supported-node\.ts)$/

const root = fileURLToPath(new URL('../..', import.meta.url))
const imports = importsBelow('src')

test('a folder imports only what its row allows', () => {
  const forbidden: string[] = []
  for (const [file, targets] of imports) {
    if (ENTRIES.test(file)) continue
    const from = folderOf(file)
    const allowed = new Set([from, ...(ALLOWED[from] ?? '').split(' ')])
    for (const target of targets)
      if (!allowed.has(folderOf(target))) forbidden.push(`${file} imports ${target}`)
  }
  expect(imports.size).toBeGreaterThan(300)
  expect(forbidden).toEqual([])
})

test('the command line reaches the ledger through operate/, except to open it', () => {
  const importers = [...imports].filter(
    ([file, targets]) => folderOf(file) === 'cli' && targets.some((target) => folderOf(target) === 'ledger'),
  )
  // The second maps the errors of the folder in which the embedded ledger lives.
  expect(importers.map(([file]) => file).sort()).toEqual(['cli/local-secret.ts', 'cli/open-ledger.ts'])
})

test('every row has a folder, and that folder imports every folder in its row', () => {
  const used = new Map<string, Set<string>>()
  for (const [file, targets] of imports) {
    const found = used.get(folderOf(file)) ?? new Set()
    for (const target of targets) found.add(folderOf(target))
    used.set(folderOf(file), found)
  }
  const unused = Object.entries(ALLOWED).flatMap(([from, row]) =>
    row
      .split(' ')
      .filter((to) => to !== '' && !used.get(from)?.has(to))
      .map((to) => `${from} does not import ${to}`),
  )
  expect(unused).toEqual([])
})

test.each([
  ['src', 300],
  ['dashboard/src', 80],
  ['test/support', 60],
])('no files below %s import each other in a circle', (folder, least) => {
  const found = importsBelow(folder)
  expect(found.size).toBeGreaterThan(least)
  expect(cycles(found)).toEqual([])
})

/** Each file below a folder, and the files that it imports, relative to the folder. */
function importsBelow(folder: string): Map<string, string[]> {
  return new Map(
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file))
      .map((file) => [file, importsOf(join(root, folder, file)).map((to) => join(dirname(file), to))]),
  )
}

function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8')
  const specifiers = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)
  return [...specifiers].map(([, specifier = '']) => specifier)
}

function folderOf(file: string): string {
  return file.split('/')[0] ?? file
}

/** The groups of files that reach each other (strongly connected components, after Tarjan). */
function cycles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const found: string[] = []
  const visit = (file: string): void => {
    const number = order.size
    order.set(file, number)
    lowest.set(file, number)
    open.push(file)
    for (const target of imports.get(file) ?? []) {
      if (!order.has(target)) visit(target)
      if (open.includes(target)) lowest.set(file, Math.min(lowestOf(file), lowestOf(target)))
    }
    if (lowestOf(file) === number) {
      const group = open.splice(open.indexOf(file))
      if (group.length > 1) found.push(group.sort().join(' '))
    }
  }
  const lowestOf = (file: string): number => lowest.get(file) ?? Number.POSITIVE_INFINITY
  for (const file of imports.keys()) if (!order.has(file)) visit(file)
  return found.sort()
}
