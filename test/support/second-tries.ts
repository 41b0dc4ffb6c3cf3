import type { Reporter, TestCase, TestModule } from 'vitest/node'

/** A failed test runs once more: on a busy machine, events may come in an unexpected order. */
export const SECOND_TRY = 1

/** If a run has more second tries, the run fails. */
const MOST_SECOND_TRIES = 3

/** These tests search with random input or timing. A single wrong result is a finding. */
const SEARCHES = /chaos|crash|fuzz|batches/

/** The messages of `until`, vitest, `expect.poll` and Playwright for a timeout. */
const RAN_OUT = /^waited \d+ ms in vain|^Test timed out in|did not succeed in time|Timeout \d+ms exceeded/

/**
 * Lists each test that passed at its second try, with the error of the first. Each is a bug of the
 * test or of the product, which must be investigated.
 */
export default class SecondTries implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const flaky = modules
      .flatMap((module) => [...module.children.allTests()])
      .filter((test) => test.diagnostic()?.flaky)
    for (const test of flaky) process.stdout.write(`second try: ${nameOf(test)}: ${firstError(test)}\n`)
    const findings = flaky.filter(isFinding)
    for (const test of findings)
      process.stdout.write(`a finding, whatever the second try says: ${nameOf(test)}\n`)
    if (flaky.length > MOST_SECOND_TRIES)
      process.stdout.write(
        `${flaky.length} tests needed a second try: more than ${MOST_SECOND_TRIES} fail the run\n`,
      )
    if (findings.length > 0 || flaky.length > MOST_SECOND_TRIES) process.exitCode = 1
  }
}

function isFinding(test: TestCase): boolean {
  return SEARCHES.test(test.module.relativeModuleId) && !RAN_OUT.test(firstError(test))
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`
}

function firstError(test: TestCase): string {
  const [error] = test.result().errors ?? []
  return error?.message.split('\n', 1)[0] ?? 'no error was kept'
}
