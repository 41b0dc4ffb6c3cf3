import type { Reporter, TestModule } from 'vitest/node'

/**
 * Only a wait that ran out gets a second try: a busy machine can cause it. A wrong result never
 * does. `until`, vitest, `expect.poll` and Playwright word it in these ways.
 */
export const SECOND_TRY = {
  count: 1,
  condition: /^waited \d+ ms in vain|^Test timed out in|did not succeed in time|Timeout \d+ms exceeded/,
}

/** Names each test that passed at its second try: it may hide a lost wake-up, so look at it. */
export default class SecondTries implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules)
      for (const test of module.children.allTests())
        if (test.diagnostic()?.flaky)
          process.stdout.write(`second try: ${module.relativeModuleId} > ${test.fullName}\n`)
  }
}
