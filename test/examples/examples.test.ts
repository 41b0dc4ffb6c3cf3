import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { copiedExample, dependenciesOf, exampleFolder, PACKAGES } from './copied-example.ts'

/*
 * Every example, with hookonce from the packed tarball, in an empty folder: its types, and its
 * tests.
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

/** Next.js has 340 MB. The tests of its example call the route as Next.js does. */
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

/** Fails with what npm printed. */
async function npm(cwd: string, ...args: string[]): Promise<void> {
  const child = spawn('npm', args, {
    cwd,
    env: { ...outerEnv(), HOOKONCE_TEST_DATABASE_URL: inject('serverUrl') },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a group of its own, so that its processes can be ended with it.
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

/** Without what the runner of this test tells its own workers. */
function outerEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')))
}
