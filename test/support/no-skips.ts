import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'
import { DECLARED_SKIPS } from './declared-skips.ts'

/**
 * A test that did not run proves nothing. Lists each skipped test with its reason. In CI a skip
 * fails the run, unless its reason is declared.
 */
export default class NoSkips implements Reporter {
  #filtered = false

  onInit(vitest: Vitest): void {
    // A run of selected tests skips the other tests on purpose.
    this.#filtered = vitest.config.testNamePattern !== undefined
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#filtered) return
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')])
    for (const test of skipped)
      process.stdout.write(`skipped: ${test.module.moduleId} > ${test.fullName}: ${reasonOf(test)}\n`)
    const undeclared = skipped.filter((test) => !DECLARED_SKIPS.has(reasonOf(test)))
    if (undeclared.length === 0) return
    process.stdout.write(
      `${undeclared.length} tests did not run${process.env.CI ? ': in CI they count as failed' : ''}\n`,
    )
    if (process.env.CI) process.exitCode = 1
  }
}

function reasonOf(test: TestCase): string {
  const result = test.result()
  return result.state === 'skipped' && result.note ? result.note : 'no reason given'
}
