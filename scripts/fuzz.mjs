// Feeds hostile input to every door, for as long as you like:
// npm run fuzz -- [--target providers] [--cases 1000000] [--seed 1] [--first 0]
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** The default number of cases of each target: together ten million, in about half an hour. */
const TARGETS = {
  sockets: { file: 'test/fuzz/sockets.test.ts', cases: 200_000 },
  providers: { file: 'test/fuzz/providers.test.ts', cases: 9_700_000 },
  config: { file: 'test/fuzz/config.test.ts', cases: 100_000 },
  cli: { file: 'test/fuzz/cli.test.ts', cases: 5_000 },
  api: { file: 'test/fuzz/api.test.ts', cases: 50_000 },
  migrations: { file: 'test/fuzz/migrations.test.ts', cases: 100 },
  writes: { file: 'test/scenarios/any-server/write-batches.test.ts', cases: 500 },
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true },
    cases: { type: 'string' },
    seed: { type: 'string' },
    first: { type: 'string' },
  },
})
const names = values.target ?? Object.keys(TARGETS)
const unknown = names.find((name) => !(name in TARGETS))
if (unknown !== undefined) {
  process.stderr.write(`there is no target "${unknown}"; choose from ${Object.keys(TARGETS).join(', ')}\n`)
  process.exit(2)
}
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const failed = names.filter((name) => {
  const { file, cases } = TARGETS[name]
  const env = { ...process.env, FUZZ_CASES: values.cases ?? String(cases) }
  if (values.seed !== undefined) env.FUZZ_SEED = values.seed
  if (values.first !== undefined) env.FUZZ_FIRST = values.first
  const suite = [vitest, 'run', '--project', 'embedded', '--disable-console-intercept=true', file]
  return spawnSync(process.execPath, suite, { cwd: root, env, stdio: 'inherit' }).status !== 0
})
if (failed.length > 0) process.stderr.write(`failed: ${failed.join(', ')}\n`)
process.exit(failed.length > 0 ? 1 : 0)
