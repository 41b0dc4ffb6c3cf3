// Builds dashboard/ to dist/dashboard/ with Vite, and compresses each file. A build of the same
// sources is taken from node_modules/.cache.
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const out = join(root, 'dist/dashboard')
const cache = join(root, 'node_modules/.cache/hookonce-dashboard')
/** Smaller files are not compressed: that would save no network packet. */
const MIN_COMPRESSED_BYTES = 512

export async function buildDashboard() {
  const kept = join(cache, digestOfSources())
  if (existsSync(kept)) return cpSync(kept, out, { recursive: true })
  const { build } = await import('vite')
  await build({ configFile: join(root, 'dashboard/vite.config.ts'), logLevel: 'warn' })
  for (const file of filesIn(out)) compress(file)
  rmSync(cache, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true })
  cpSync(out, kept, { recursive: true })
}

function digestOfSources() {
  const hash = createHash('sha256')
  const sources = ['dashboard', 'src/client'].flatMap((folder) => filesIn(join(root, folder)))
  const tools = ['package-lock.json', 'scripts/build-dashboard.mjs'].map((file) => join(root, file))
  for (const file of [...sources, ...tools]) hash.update(`${file}\0`).update(readFileSync(file))
  return hash.digest('hex').slice(0, 16)
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => statSync(file).isFile())
    .sort()
}

function compress(file) {
  const bytes = readFileSync(file)
  if (bytes.length < MIN_COMPRESSED_BYTES) return
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
}
