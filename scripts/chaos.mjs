// Everything breaks at once, for as long as you like:
// npm run chaos -- --deliveries 1000000 --faults 1000 [--events 40000] [--seed 1]
// npm run chaos -- --minutes 60    as many events and faults as fit
// npm run chaos -- --standby synchronous|asynchronous    with a second server that takes over
// npm run chaos -- --only failOver,fillDisk    only these faults
// npm run chaos -- --broken    also runs builds that are broken on purpose: the checker must notice
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '20000' },
    events: { type: 'string' },
    faults: { type: 'string', default: '40' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    standby: { type: 'string' },
    only: { type: 'string' },
    broken: { type: 'boolean', default: false },
  },
})
/** Most deliveries are repeats. */
const DELIVERIES_PER_EVENT = 25
const events = values.events ?? String(Math.ceil(Number(values.deliveries) / DELIVERIES_PER_EVENT))
const env = {
  ...process.env,
  CHAOS_DELIVERIES: values.deliveries,
  CHAOS_EVENTS: events,
  CHAOS_FAULTS: values.faults,
}
if (values.seed !== undefined) env.CHAOS_SEED = values.seed
if (values.minutes !== undefined) env.CHAOS_MINUTES = values.minutes
if (values.standby !== undefined) env.CHAOS_STANDBY = values.standby
if (values.only !== undefined) env.CHAOS_ONLY = values.only
if (values.broken) env.CHAOS_BROKEN = '1'
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'chaos', 'test/chaos'], {
  cwd: root,
  env,
  stdio: 'inherit',
})
process.exit(status ?? 1)
