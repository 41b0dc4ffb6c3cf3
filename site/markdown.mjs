// A plugin of markdown-it: leads links to pages, and draws diagrams into the page, so that they take
// the colours of the theme.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileOf, siteLink } from './links.mjs'
import { ROOT } from './pages.mjs'

/** `onPublish` gets each file that must be published because a page links to it. */
export function siteMarkdown(md, { base, onPublish }) {
  // Braces in code are text, not templates of Vue.
  md.renderer.rules.code_inline = (tokens, index) =>
    `<code v-pre>${md.utils.escapeHtml(tokens[index].content)}</code>`
  md.core.ruler.push('site', ({ tokens, env }) => {
    if (!env.relativePath) return
    const file = fileOf(env.relativePath)
    for (const token of tokens.flatMap((each) => each.children ?? [])) {
      if (token.type === 'link_open') {
        const { href, publish } = siteLink(file, token.attrGet('href'))
        token.attrSet('href', href)
        if (publish) {
          onPublish(publish)
          // Not a page: the browser opens it, and VitePress leaves its address alone.
          token.attrSet('target', '_blank')
          token.attrSet('href', base + publish.to)
        }
      } else if (token.type === 'image' && token.attrGet('src').includes('diagrams/')) {
        token.type = 'html_inline'
        token.content = diagram(join(ROOT, dirname(file), token.attrGet('src')), token.content)
      }
    }
  })
}

/** Without its own colours: those are for readers of the plain file. */
function diagram(path, label) {
  const svg = readFileSync(path, 'utf8')
    .replaceAll(/<(style|title)>[\s\S]*?<\/\1>/g, '')
    .replaceAll(/\n\s*/g, ' ')
  return `<span class="diagram" role="img" aria-label="${label.replaceAll('"', '&quot;')}">${svg}</span>`
}
