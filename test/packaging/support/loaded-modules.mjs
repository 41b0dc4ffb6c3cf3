// Imports entries of hookonce and prints what was loaded: `imports` are pairs of an importing and
// an imported file. Needs Node.js 22.15 or later.
//   node loaded-modules.mjs <folder with hookonce> <folder with optional packages> <entry>…
import { createRequire, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, withPeers, ...entries] = process.argv.slice(2)
const imports = []
/** The folder of an optional package that the first folder does not have. */
const peers = pathToFileURL(join(withPeers, 'package.json')).href

registerHooks({
  resolve(specifier, context, next) {
    const found = resolved(specifier, context, next)
    if (found.url.startsWith('file:')) imports.push([context.parentURL, found.url])
    return found
  },
})

function resolved(specifier, context, next) {
  try {
    return next(specifier, context)
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    return next(specifier, { ...context, parentURL: peers })
  }
}

// `hookonce/testing/jest` adds its matchers to this global of Jest.
globalThis.expect = { extend: () => undefined }
const { resolve } = createRequire(join(folder, 'package.json'))
const files = {}
for (const entry of entries) {
  files[entry] = pathToFileURL(resolve(entry)).href
  await import(files[entry])
}
// A package may keep a timer or a connection open.
process.stdout.write(JSON.stringify({ files, imports }), () => process.exit())
