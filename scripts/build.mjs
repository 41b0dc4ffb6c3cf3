// Compiles src/ to dist/ with plain tsc. Copies the numbered SQL migrations, which tsc does not.
// Writes the JSON Schema of the gateway's configuration. Builds the dashboard.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildDashboard } from './build-dashboard.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const typescript = createRequire(import.meta.url).resolve('typescript/package.json')

rmSync(join(root, 'dist'), { recursive: true, force: true })
const tsc = spawnSync(process.execPath, [join(dirname(typescript), 'bin', 'tsc'), '-p', root], {
  stdio: 'inherit',
})
if (tsc.status !== 0) process.exit(tsc.status ?? 1)
cpSync(join(root, 'src/ledger/migrations'), join(root, 'dist/ledger/migrations'), {
  recursive: true,
  filter: (path) => !path.endsWith('.ts'),
})
const { configJsonSchema } = await import('../dist/gateway/config/json-schema.js')
writeFileSync(
  join(root, 'dist/gateway/config.schema.json'),
  `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
)
chmodSync(join(root, 'dist/cli/bin.js'), 0o755)
await buildDashboard()
