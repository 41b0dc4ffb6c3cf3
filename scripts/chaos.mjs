// Everything breaks at once, for as long as you like:
// npm run chaos -- --events 100000 --faults 1000 [--seed 1]
// npm run chaos -- --broken    also runs builds that are broken on purpose: the checker must notice
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1500' },
    faults: { type: 'string', default: '40' },
    seed: { type: 'string' },
    broken: { type: 'boolean', default: false },
  },
})
const env = { ...process.env, CHAOS_EVENTS: values.events, CHAOS_FAULTS: values.faults }
if (values.seed !== undefined) env.CHAOS_SEED = values.seed
if (values.broken) env.CHAOS_BROKEN = '1'
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'chaos', 'test/chaos'], {
  cwd: root,
  env,
  stdio: 'inherit',
})
process.exit(status ?? 1)
