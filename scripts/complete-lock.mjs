// Adds to a lockfile the optional packages of other platforms that the registry in use did not
// have. npm leaves them out then, and `npm ci` refuses the lockfile. They are only fetched on their
// own platform.
//   node scripts/complete-lock.mjs [directory]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const path = join(process.argv[2] ?? '.', 'package-lock.json')
const lock = JSON.parse(readFileSync(path, 'utf8'))
const SYSTEMS = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'openharmony',
  'win32',
  'aix',
  'sunos',
  'netbsd',
  'openbsd',
]
const PROCESSORS = [
  'arm64',
  'arm',
  'x64',
  'ia32',
  'ppc64',
  'riscv64',
  's390x',
  'loong64',
  'mips64el',
  'wasm32',
]

for (const entry of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`
    if (key in lock.packages) continue
    lock.packages[key] = { version, ...platformOf(name), ...(entry.dev ? { dev: true } : {}), optional: true }
  }
}
const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1))
writeFileSync(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)

function platformOf(name) {
  const words = name.split(/[-/.]/)
  const os = SYSTEMS.filter((system) => words.includes(system))
  const cpu = PROCESSORS.filter((processor) => words.includes(processor))
  if (os.length === 0 && cpu.length === 0) throw new Error(`${name} names no platform: install it by hand`)
  return { ...(cpu.length > 0 ? { cpu } : {}), ...(os.length > 0 ? { os } : {}) }
}
