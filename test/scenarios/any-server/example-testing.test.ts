import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, inject, onTestFinished, test } from 'vitest'

/** Runs the tests of the example, in a process of their own, as its reader would. */
test('the tests of the example of testing pass, on the server and with the matchers of vitest', async () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  const run = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--root', 'examples/testing', '--reporter', 'json'],
    {
      cwd: root,
      env: { ...outerEnv(), HOOKONCE_TEST_DATABASE_URL: inject('serverUrl') },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  onTestFinished(() => void run.kill('SIGKILL'))
  let printed = ''
  run.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  const [code] = await once(run, 'close')
  const report = JSON.parse(printed.slice(printed.indexOf('{"'))) as { numPassedTests: number }
  expect({ code, passed: report.numPassedTests }).toEqual({ code: 0, passed: 8 })
}, 180_000)

/** Without what the runner of this test tells its own workers. */
function outerEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')))
}
