import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { start } from './support/command.ts'

/* hookonce/testing/jest of the installed package, in jest itself. */

const HOME = join(import.meta.dirname, 'node_modules')
const JEST = join(HOME, 'jest/bin/jest.js')

const TESTS = `
import { hookonce } from 'hookonce'
import { github } from 'hookonce/sources'
import { testHooks } from 'hookonce/testing'

const start = () =>
  testHooks((database) =>
    hookonce({ database, sources: { github: github({ secret: 'It is a secret' }) } }).on('github', '*', async (event, ctx) => {
      await ctx.effect('mail:1', () => undefined)
    }))

test('the matchers accept what happened', async () => {
  const t = await start()
  try {
    const delivered = await t.deliver('github', 'push', {}, { times: 2 })
    await t.settled()
    expect(delivered).toBeAcknowledged()
    expect(await t.effects('mail:1')).toHaveHappenedOnce()
    expect(await t.effects('mail:2')).toHaveHappenedTimes(0)
    expect(await t.deliver('github', 'push', {}, { tamper: 'body' })).toBeRefusedWith('SIGNATURE_MISMATCH')
  } finally {
    await t.close()
  }
})

test('the matchers explain what did not happen', () => {
  const effect = { key: 'mail:1', records: [], calls: 0, happened: 0 }
  const delivered = { source: 'github', type: 'push', key: 'k', statuses: [401], status: 401, code: 'SIGNATURE_MISSING' }
  expect(() => expect(effect).toHaveHappenedOnce()).toThrow('nothing is recorded under this key')
  expect(() => expect(effect).not.toHaveHappenedTimes(0)).toThrow('not to have happened 0 times')
  expect(() => expect(delivered).toBeAcknowledged()).toThrow('answered: 401, SIGNATURE_MISSING')
  expect(() => expect(delivered).toBeRefusedWith('BODY_MISMATCH')).toThrow('to be refused with BODY_MISMATCH')
})
`

test('the four matchers work in jest, through setupFilesAfterEnv', async () => {
  const cwd = folderInApp()
  writeFileSync(join(cwd, 'hooks.test.js'), TESTS)
  const config = { setupFilesAfterEnv: ['hookonce/testing/jest'], transform: {}, watchman: false }
  writeFileSync(join(cwd, 'jest.config.json'), JSON.stringify(config))
  const ran = start([process.execPath, '--experimental-vm-modules', JEST, '--no-cache', '--runInBand'], {
    cwd,
    env: { HOOKONCE_TEST_DATABASE_URL: inject('serverUrl') },
  })
  const code = await ran.exited()
  expect(ran.printed()).toContain('Tests:       2 passed, 2 total')
  expect(code).toBe(0)
})

test('without a global expect, the import explains where it belongs', () => {
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', `import 'hookonce/testing/jest'`], {
    cwd: inject('installedApp'),
    encoding: 'utf8',
  })
  expect(ran.status).toBe(1)
  expect(ran.stderr).toContain('CONFIG_INVALID: hookonce/testing/jest: there is no global `expect`')
})

const TYPES = `
import 'hookonce/testing/jest'
expect({}).toHaveHappenedOnce()
expect({}).not.toHaveHappenedTimes(2)
expect({}).toBeAcknowledged()
expect({}).toBeRefusedWith('BODY_MISMATCH')
expect(Promise.resolve({})).resolves.toBeAcknowledged().then(() => undefined)
// @ts-expect-error: the number is missing
expect({}).toHaveHappenedTimes()
`

test('@types/jest has the matchers, and no declaration has an error', () => {
  const cwd = folderInApp()
  writeFileSync(join(cwd, 'matchers.ts'), TYPES)
  // The types of jest are not in the folders above.
  mkdirSync(join(cwd, 'node_modules'))
  for (const name of readdirSync(HOME))
    if (!name.startsWith('.')) symlinkSync(join(HOME, name), join(cwd, 'node_modules', name))
  const compilerOptions = {
    ...{ target: 'es2023', strict: true, noEmit: true, module: 'nodenext', skipLibCheck: false },
    ...{ preserveSymlinks: true, types: ['jest'] },
  }
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const tsc = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc')
  const ran = spawnSync(process.execPath, [tsc, '-p', cwd, '--pretty', 'false'], { encoding: 'utf8' })
  expect(ran.stdout).toBe('')
})

/** A folder in which `hookonce` is the installed package. */
function folderInApp(): string {
  const folder = mkdtempSync(join(inject('installedApp'), 'jest-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  return folder
}
