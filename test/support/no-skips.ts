import type { Reporter, TestModule, Vitest } from 'vitest/node'

/** A test that did not run proves nothing: names each one that was set aside, with its reason; in CI it fails the run. */
export default class NoSkips implements Reporter {
  #filtered = false

  onInit(vitest: Vitest): void {
    // Whoever asks for some tests by name does not want the others.
    this.#filtered = vitest.config.testNamePattern !== undefined
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#filtered) return
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')])
    for (const test of skipped) {
      const result = test.result()
      const reason = result.state === 'skipped' && result.note ? result.note : 'no reason given'
      process.stdout.write(`skipped: ${test.module.moduleId} > ${test.fullName}: ${reason}\n`)
    }
    if (skipped.length === 0) return
    process.stdout.write(
      `${skipped.length} tests did not run${process.env.CI ? ': in CI they count as failed' : ''}\n`,
    )
    if (process.env.CI) process.exitCode = 1
  }
}
