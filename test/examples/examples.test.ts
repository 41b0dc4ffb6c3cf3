import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { copiedExample, dependenciesOf, exampleFolder, PACKAGES } from './copied-example.ts'

/*
 * Every example, with hookonce from the packed tarball, in an empty folder: checks its types and
 * runs its tests.
 */

const EXAMPLES = [
  'express-billing',
  'fastify-github',
  'next-shopify',
  'hono-standard-webhooks',
  'nest-orders',
  'gateway-python',
  'serverless-redis',
]

/**
 * Next.js has 340 MB. The tests of its example call the route like Next.js does, and
 * test/frameworks/next.test.ts builds and starts it.
 */
const NOT_INSTALLED = ['hookonce', 'next', 'react', 'react-dom']

test('packages/package.json has the dependencies of all examples', () => {
  const all = Object.assign({}, ...EXAMPLES.map((name) => dependenciesOf(exampleFolder(name))))
  for (const name of NOT_INSTALLED) delete all[name]
  expect(dependenciesOf(PACKAGES)).toEqual(all)
})

test.each(EXAMPLES)(
  'the tests of %s pass, as its README runs them',
  async (name) => {
    expect(readFileSync(join(exampleFolder(name), 'README.md'), 'utf8')).toMatch(/^npm test\b/m)
    const cwd = copiedExample(name)
    await npm(cwd, 'run', 'typecheck')
    await npm(cwd, 'test')
  },
  300_000,
)

/** Fails with the output of npm. */
async function npm(cwd: string, ...args: string[]): Promise<void> {
  const child = spawn('npm', args, {
    cwd,
    env: { ...outerEnv(), HOOKONCE_TEST_DATABASE_URL: inject('serverUrl') },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In its own process group, so that its children can be killed with it.
    detached: true,
  })
  onTestFinished(() => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`npm ${args.join(' ')} ended with ${code}:\n${printed}`)
}

/** Without the variables that this test runner sets for its own workers. */
function outerEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')))
}
