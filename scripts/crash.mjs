// The long suites of crashes:
// npm run crash -- --runs 500 [--mode keyed] [--seed 1]
// npm run crash -- --forward 10000 [--kills 20] [--seed 1]
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '500' },
    mode: { type: 'string' },
    forward: { type: 'string' },
    kills: { type: 'string', default: '20' },
    seed: { type: 'string' },
  },
})
const env = { ...process.env, CRASH_RUNS: values.runs }
if (values.mode !== undefined) env.CRASH_MODE = values.mode
if (values.forward !== undefined)
  Object.assign(env, { CRASH_EVENTS: values.forward, CRASH_KILLS: values.kills })
if (values.seed !== undefined) env.CRASH_SEED = values.seed
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const file = values.forward === undefined ? 'effects-crash' : 'forward-crash'
const suite = ['run', '--project', 'embedded', `test/scenarios/any-server/${file}.test.ts`]
const { status } = spawnSync(process.execPath, [vitest, ...suite], { cwd: root, env, stdio: 'inherit' })
process.exit(status ?? 1)
