import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const root = dirname(fileURLToPath(import.meta.url))

export default defineConfig({
  root,
  // Addresses are relative to the page's <base>, so that the page works under any mount path.
  base: './',
  resolve: { alias: { 'hookonce/client': join(root, '../src/client/index.ts') } },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: join(root, '../dist/dashboard'),
    emptyOutDir: true,
    target: 'es2022',
    // The policy of the page allows no `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // For the test that weighs the first load.
    manifest: 'manifest.json',
    reportCompressedSize: false,
  },
  // For work on the page: `npx vite dashboard` beside `hookonce dev`.
  server: { proxy: { '/api': 'http://127.0.0.1:4401' } },
})
