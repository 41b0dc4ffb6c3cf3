// Load at a steady rate with duplicates and failures in it, then overload:
// npm run load -- --minutes 60 [--rate 800] [--overload 3] [--seed 1]
// Without --rate, the sustainable rate is measured first.
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string' },
    overload: { type: 'string', default: '3' },
    seed: { type: 'string' },
  },
})
const env = { ...process.env, LOAD_MINUTES: values.minutes, LOAD_OVERLOAD: values.overload }
if (values.rate !== undefined) env.LOAD_RATE = values.rate
if (values.seed !== undefined) env.LOAD_SEED = values.seed
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const suite = ['run', '--project', 'chaos', '--disable-console-intercept=true', 'test/load']
const { status } = spawnSync(process.execPath, [vitest, ...suite], { cwd: root, env, stdio: 'inherit' })
process.exit(status ?? 1)
