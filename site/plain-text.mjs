// Pages for programs: every page as Markdown beside its HTML, and llms.txt, which lists them.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { siteLink } from './links.mjs'
import { pages, ROOT, sections } from './pages.mjs'

/** Links of Markdown, and those of HTML inside it. */
const LINK = /(\]\()([^)\s]+)(\))/g

/** `onPublish` gets each file that must be published because a page links to it. */
export function writePlainText(outDir, { base, onPublish }) {
  for (const [file, address] of pages) write(join(outDir, address), plainPage(file, { base, onPublish }))
  write(join(outDir, 'llms.txt'), llmsText(base))
}

export function publishFiles(outDir, published) {
  for (const { from, to } of published) {
    mkdirSync(dirname(join(outDir, to)), { recursive: true })
    cpSync(join(ROOT, from), join(outDir, to))
  }
}

/** The comments around generated blocks. They are for the script that writes the blocks. */
const MARKER = /^<!-- (generated: |end of ).* -->\n/gm

function plainPage(file, { base, onPublish }) {
  const lines = readFileSync(join(ROOT, file), 'utf8').replaceAll(MARKER, '').split('\n')
  let isCode = false
  return lines
    .map((line) => {
      if (/^ *```/.test(line)) isCode = !isCode
      if (isCode) return line
      return line.replaceAll(LINK, (_, open, href, close) => {
        const { href: to, publish } = siteLink(file, href)
        if (publish) onPublish(publish)
        return `${open}${to.startsWith('/') ? base + to.slice(1) : to}${close}`
      })
    })
    .join('\n')
}

function llmsText(base) {
  const parts = sections().map(({ text, pages: listed }) => {
    const lines = listed.map(
      ({ file, address, title }) => `- [${title}](${base}${address}): ${firstSentence(file)}`,
    )
    return `## ${text}\n\n${lines.join('\n')}`
  })
  return [
    '# hookonce',
    '> Every webhook takes effect once. A TypeScript library and a gateway that receive webhooks, verify them, record each event once in PostgreSQL, and process it with leased and fenced workers.',
    ...parts,
    '',
  ].join('\n\n')
}

/** The first sentence after the heading, without markup. */
function firstSentence(file) {
  const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/<!--[\s\S]*?-->/g, '')
  const paragraphs = text.split(/\n{2,}/).map((part) => part.trim())
  const prose = paragraphs.find((part) => part !== '' && !/^(#|```|\||<|---|!\[)/.test(part)) ?? ''
  const plain = prose
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
  return /^.*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
