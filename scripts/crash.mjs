// The long suite of crashes: npm run crash -- --runs 500 [--mode keyed] [--seed 1]
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { values } = parseArgs({
  options: { runs: { type: 'string', default: '500' }, mode: { type: 'string' }, seed: { type: 'string' } },
})
const env = { ...process.env, CRASH_RUNS: values.runs }
if (values.mode !== undefined) env.CRASH_MODE = values.mode
if (values.seed !== undefined) env.CRASH_SEED = values.seed
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const suite = ['run', '--project', 'embedded', 'test/scenarios/any-server/effects-crash.test.ts']
const { status } = spawnSync(process.execPath, [vitest, ...suite], { cwd: root, env, stdio: 'inherit' })
process.exit(status ?? 1)
