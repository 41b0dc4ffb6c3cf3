import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { headingId } from '../links.mjs'
import { siteMarkdown } from '../markdown.mjs'
import { notPages, pages, ROOT, sections } from '../pages.mjs'
import { publishFiles, writePlainText } from '../plain-text.mjs'

/** The path under which the site is served, such as `/hookonce/`. */
const base = process.env.SITE_BASE ?? '/'
const published = new Map()
const onPublish = (file) => published.set(file.to, file)

export default defineConfig({
  title: 'hookonce',
  description: 'Every webhook takes effect once: a library and a gateway over PostgreSQL.',
  lang: 'en',
  base,
  srcDir: ROOT,
  srcExclude: notPages(),
  rewrites: Object.fromEntries(pages),
  outDir: process.env.SITE_OUT ?? join(ROOT, 'site/.vitepress/dist'),
  cacheDir: join(ROOT, 'site/.vitepress/cache'),
  // A static server needs no rules, and a page opens from a disk that is served from anywhere.
  cleanUrls: false,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}mark.svg` }]],
  markdown: {
    anchor: { slugify: headingId },
    // Braces in our tables are code, not attributes.
    attrs: { disable: true },
    headers: { level: [2, 3] },
    config: (md) => siteMarkdown(md, { base, onPublish }),
  },
  vite: {
    publicDir: join(ROOT, 'site/public'),
    plugins: [vueOfThisFolder()],
    server: {
      fs: { allow: [ROOT] },
      // The root of the pages is that of the repository, and most of it is no page.
      watch: { ignored: ['src', 'test', 'dist', '.hookonce'].map((folder) => join(ROOT, folder, '**')) },
    },
  },
  themeConfig: {
    logo: '/mark.svg',
    outline: [2, 3],
    search: {
      provider: 'local',
      options: { detailedView: true },
    },
    nav: [
      { text: 'Quick start', link: '/start' },
      { text: 'Guides', link: '/guides/', activeMatch: '/(guides|migrate)/' },
      { text: 'Reference', link: '/reference/library', activeMatch: '/reference/' },
      { text: 'Runbooks', link: '/runbooks/', activeMatch: '/runbooks/' },
      // Recorded into the built site by demo/record.mjs.
      ...(process.env.SITE_DEMO === 'on'
        ? [{ text: 'Demo', link: '/demo/index.html', target: '_self' }]
        : []),
    ],
    sidebar: sections().map(({ text, collapsed, pages: listed }) => ({
      text,
      ...(collapsed === undefined ? {} : { collapsed }),
      items: listed.map(({ address, label }) => ({
        text: label,
        link: `/${address.replace(/(index)?\.md$/, '')}`,
      })),
    })),
  },
  buildEnd({ outDir }) {
    writePlainText(outDir, { base, onPublish })
    publishFiles(outDir, published.values())
  },
})

/** Pages are outside this folder and do not find Vue. The server's bundle, which is inside, does. */
function vueOfThisFolder() {
  return {
    name: 'vue-of-this-folder',
    enforce: 'pre',
    resolveId: (id, _, { ssr }) => (ssr && /^vue(\/|$)/.test(id) ? { id, external: true } : undefined),
  }
}
