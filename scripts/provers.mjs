// Every schedule of `hookonce prove` on every receiver with a planted fault, in Node.js and Python:
// npm run provers
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const suite = ['run', '--project', 'embedded', 'test/scenarios/any-server/cli-prove.test.ts']
const env = { ...process.env, HOOKONCE_PROVERS: 'all' }
const { status } = spawnSync(process.execPath, [vitest, ...suite], { cwd: root, env, stdio: 'inherit' })
process.exit(status ?? 1)
