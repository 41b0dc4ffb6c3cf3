// Links between Markdown files lead from file to file. On the site they lead from page to page, and
// a file that is no page is published beside the pages as text.
import { existsSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { pages, ROOT } from './pages.mjs'

const FILES = 'files'

/** Where a link of a file leads on the site: from its root, or unchanged if it leads elsewhere. */
export function siteLink(file, href) {
  if (/^([a-z]+:|\/|#)/i.test(href)) return { href }
  const [, path = '', hash = ''] = /^([^#]*)(#.*)?$/.exec(href) ?? []
  const target = posix.join(posix.dirname(file), decodeURI(path)).replace(/\/$/, '')
  const page = pages.get(target) ?? pages.get(`${target}/README.md`)
  if (page) return { href: `/${page}${hash}` }
  if (!existsSync(join(ROOT, target)) || statSync(join(ROOT, target)).isDirectory()) return { href }
  // As text, because servers give `.ts` and other endings a type that browsers do not show.
  const published = `${FILES}/${target}${/\.(svg|png)$/.test(target) ? '' : '.txt'}`
  return { href: `/${published}`, publish: { from: target, to: published } }
}

/** The file of a page, by its address. The search names pages by their files. */
export function fileOf(address) {
  if (pages.has(address)) return address
  for (const [file, at] of pages) if (at === address) return file
  throw new Error(`no page has the address ${address}`)
}

/** The id of a heading, as GitHub makes it: links with a `#` work there and here. */
export function headingId(text) {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}
