import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that took longest when all tests ran on two cores. */
const LONGEST = new Set([
  'test/examples/examples.test.ts',
  'test/scenarios/any-server/cli-prove.test.ts',
  'test/frameworks/next.test.ts',
  'src/sources/diagnose/bounds.test.ts',
  'test/scenarios/any-server/publish-crash.test.ts',
  'test/scenarios/any-server/effects-adapters.test.ts',
  'test/scenarios/any-server/process-suspects.test.ts',
  'test/scenarios/any-server/effects-liveness.test.ts',
  'test/scenarios/any-server/ledger-rolling-deploy.test.ts',
  'test/scenarios/own-server/durability.test.ts',
  'test/scenarios/own-server/outage.test.ts',
  'test/keys/own-server/postgres.test.ts',
])

/** Starts the longest files first, so that no worker runs one of them alone at the end. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      LONGEST.has(relative(this.ctx.config.root, moduleId))
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}
