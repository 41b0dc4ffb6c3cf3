import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { BASE } from './install.ts'

const SITE = inject('siteFolder')
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const files = readdirSync(SITE, { recursive: true, encoding: 'utf8' }).filter((file) =>
  statSync(join(SITE, file)).isFile(),
)
const read = (file: string): string => readFileSync(join(SITE, file), 'utf8')
const html = files.filter((file) => file.endsWith('.html') && file !== '404.html')

test('every page of docs/ is on the site, as HTML and as Markdown', () => {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.replace(/README\.md$/, 'index.md'))
  expect(pages.length).toBeGreaterThan(90)
  const missing = pages.filter(
    (page) => !files.includes(page) || !files.includes(page.replace(/md$/, 'html')),
  )
  expect(missing).toEqual([])
})

/** Links and sources of a page: the shown and the loaded ones. */
function referencesOf(page: string): { readonly tag: string; readonly url: string }[] {
  return [...read(page).matchAll(/<(\w+)\b[^>]*?\s(?:href|src)="([^"]*)"/g)].map(
    ([, tag = '', url = '']) => ({
      tag,
      url: url.replaceAll('&amp;', '&'),
    }),
  )
}

/** The file of the site to which a link of a page leads, and the anchor in it. */
function targetOf(page: string, url: string): { readonly file: string; readonly id: string } {
  const [path = '', id = ''] = url.split('#')
  if (path === '') return { file: page, id }
  const absolute = path.startsWith('/') ? posix.relative(BASE, path) : posix.join(posix.dirname(page), path)
  const file = path.endsWith('/') ? posix.join(absolute, 'index.html') : absolute
  return { file: decodeURI(file), id: decodeURIComponent(id) }
}

test('no link is dead: pages, their anchors, files and assets exist, under the base path', () => {
  const dead: string[] = []
  let checked = 0
  const ids = new Map<string, Set<string>>()
  const idsOf = (file: string): Set<string> => {
    const known =
      ids.get(file) ?? new Set([...read(file).matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id))
    ids.set(file, known)
    return known
  }
  for (const page of html)
    for (const { url } of referencesOf(page)) {
      if (/^[a-z]+:/.test(url)) continue
      checked += 1
      const { file, id } = targetOf(page, url)
      if (!existsSync(join(SITE, file)) || file.startsWith('..')) dead.push(`${page}: ${url}`)
      else if (id !== '' && file.endsWith('.html') && !idsOf(file).has(id))
        dead.push(`${page}: ${url}, no such part`)
    }
  expect(checked).toBeGreaterThan(5_000)
  expect(dead).toEqual([])
})

test('no page loads anything from another host', () => {
  const loaded = html.flatMap((page) =>
    referencesOf(page)
      // A reader follows `a`. The page loads everything else.
      .filter(({ tag, url }) => tag !== 'a' && /^(https?:)?\/\//.test(url))
      .map(({ url }) => `${page}: ${url}`),
  )
  const styles = files
    .filter((file) => file.endsWith('.css'))
    .flatMap((file) => read(file).match(/(?:@import|url\()\s*["']?(?:https?:)?\/\/[^)"']*/g) ?? [])
  const scripts = files
    .filter((file) => /^assets\/.*\.js$/.test(file))
    .flatMap(
      (file) =>
        read(file).match(/(?:\bfetch|\bimport|\.open|importScripts|new URL)\(\s*["'`]https?:[^)]*/g) ?? [],
    )
  expect([...loaded, ...styles, ...scripts]).toEqual([])
})

test('the search works from the files alone: its index has the text of the pages', () => {
  const index = files.filter((file) => /localSearchIndex.*\.js$/.test(file))
  expect(index).toHaveLength(1)
  // Words of one page, of a heading and of a table.
  for (const word of ['downstreamttlms', 'hookoncelag', 'processed_events'])
    expect(read(index[0] ?? '').toLowerCase()).toContain(word)
})

test('llms.txt lists every page, as Markdown that is there', () => {
  const listed = [...read('llms.txt').matchAll(/^- \[.+\]\((\S+)\): .+/gm)].map(([, url = '']) =>
    posix.relative(BASE, url),
  )
  const pages = html.map((page) => page.replace(/html$/, 'md')).filter((page) => page !== 'index.md')
  expect(listed.sort()).toEqual(pages.sort())
  expect(listed.filter((page) => !files.includes(page))).toEqual([])
})

test('links of the Markdown pages lead to Markdown pages', () => {
  const dead = files
    .filter((file) => file.endsWith('.md'))
    .flatMap((page) =>
      [
        ...read(page)
          .replaceAll(/```[\s\S]*?```/g, '')
          .matchAll(/\]\(([^)\s]+)\)/g),
      ]
        .map(([, url = '']) => url)
        .filter((url) => !/^([a-z]+:|#)/.test(url) && !existsSync(join(SITE, targetOf(page, url).file)))
        .map((url) => `${page}: ${url}`),
    )
  expect(dead).toEqual([])
})

test('no page shows a template, or names a folder of the build machine', () => {
  const wrong = files
    .filter((file) => /\.(html|js|md|txt)$/.test(file))
    .filter((file) => read(file).includes(ROOT))
  expect(wrong).toEqual([])
})
