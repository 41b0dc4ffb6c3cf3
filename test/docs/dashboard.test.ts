import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { dashboardPaths } from '../../src/gateway/dashboard.ts'

/* The dashboard as it was built, and its sources. Needs `npm run build`. */

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const built = join(root, 'dist/dashboard')
const MAX_FIRST_LOAD_BYTES = 80_000

interface Chunk {
  readonly file: string
  readonly css?: readonly string[]
  readonly imports?: readonly string[]
  readonly dynamicImports?: readonly string[]
}

const sources = readdirSync(join(root, 'dashboard/src'), { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !file.endsWith('.test.ts'),
)
const textOf = (file: string): string => readFileSync(join(root, 'dashboard/src', file), 'utf8')

/** The files that a page loads, including files that load later, such as charts. */
function filesOf(manifest: Readonly<Record<string, Chunk>>, page: string): Set<string> {
  const seen = new Set<string>()
  const visit = (name: string, isLate: boolean): void => {
    const chunk = manifest[name]
    if (!chunk || seen.has(chunk.file)) return
    for (const file of [chunk.file, ...(chunk.css ?? [])]) seen.add(file)
    for (const next of chunk.imports ?? []) visit(next, false)
    if (isLate) for (const next of chunk.dynamicImports ?? []) visit(next, true)
  }
  visit('index.html', false)
  visit(page, true)
  return seen
}

test('the first load of the overview, with its charts, is at most 80 kB gzipped', () => {
  const manifest = JSON.parse(readFileSync(join(built, 'manifest.json'), 'utf8'))
  const files = filesOf(manifest, 'src/pages/overview/overview.tsx')
  expect(files.size).toBeGreaterThan(4)
  const weigh = (file: string): number => gzipSync(readFileSync(join(built, file)), { level: 9 }).length
  const bytes = [...files, 'index.html', 'theme.js'].reduce((sum, file) => sum + weigh(file), 0)
  expect(bytes).toBeGreaterThan(20_000)
  expect(bytes).toBeLessThanOrEqual(MAX_FIRST_LOAD_BYTES)
})

test('the server answers every path of the page', () => {
  const paths = [...textOf('routes.ts').matchAll(/\bpath: '([^']+)'/g)].map(([, path]) => path)
  expect(paths).toContain('/')
  expect(paths.filter((path) => !(dashboardPaths as readonly unknown[]).includes(path))).toEqual([])
})

test('the page imports its libraries, the client and its own files, and nothing of the server', () => {
  const allowed =
    /^(preact(\/hooks)?|@preact\/signals|@tanstack\/virtual-core|uplot(\/dist\/uPlot\.min\.css)?|hookonce\/client)$/
  const foreign = sources.flatMap((file) => {
    const specifiers = textOf(file).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)
    return [...specifiers].flatMap(([, name = '']) => {
      const isOwn = name.startsWith('.') && !join('dashboard/src', dirname(file), name).startsWith('src')
      return isOwn || allowed.test(name) ? [] : [`${file} imports ${name}`]
    })
  })
  expect(sources.length).toBeGreaterThan(20)
  expect(foreign).toEqual([])
})

test('no file puts markup into the page, and no built file names another host', () => {
  const inserting = sources.filter((file) =>
    /dangerouslySetInnerHTML|innerHTML|insertAdjacent/.test(textOf(file)),
  )
  expect(inserting).toEqual([])
  const html = readFileSync(join(built, 'index.html'), 'utf8')
  expect(html.match(/(?:src|href)="[^"]*\/\/[^"]*"/g)).toBeNull()
  // There are neither inline scripts nor inline styles: the policy would refuse them.
  expect(html).not.toMatch(/<style|\sstyle=|<script>|\son\w+=/)
})

test('no page styles a class of another page, so styles stay the same from page to page', () => {
  const files = readdirSync(join(root, 'dashboard/src'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.css'),
  )
  const selectors = new Map(files.map((file) => [file, selectorsOf(textOf(file))]))
  const clashes = [...selectors].flatMap(([file, own]) => {
    // The shared styles are loaded on every page.
    if (file.startsWith('styles/')) return []
    const bare = new Set(own.flatMap((selector) => /^\.([\w-]+)(?::+[\w-]+)?$/.exec(selector)?.[1] ?? []))
    return [...bare].flatMap((name) =>
      [...selectors]
        .filter(([other, theirs]) => other !== file && theirs.some((one) => classesOf(one).includes(name)))
        .map(([other]) => `.${name} of ${file} is also in ${other}`),
    )
  })
  expect(files.length).toBeGreaterThan(10)
  expect(clashes).toEqual([])
})

function selectorsOf(css: string): string[] {
  const rules = css.replace(/\/\*[\s\S]*?\*\//g, '').matchAll(/([^{}]+)\{/g)
  return [...rules].flatMap(([, heads = '']) => heads.split(',').map((head) => head.trim()))
}

function classesOf(selector: string): string[] {
  return [...selector.matchAll(/\.([\w-]+)/g)].map(([, name = '']) => name)
}
