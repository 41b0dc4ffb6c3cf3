import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { output } from './support/command.ts'

/* `npm ci` in a clone of the repository, which newcomers and CI run. */

const root = join(import.meta.dirname, '..', '..')
const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))

test('npm ci warns of no package that needs another Node.js', async () => {
  const printed = await output(['npm', 'ci', '--dry-run', '--ignore-scripts'], { cwd: root })
  expect(printed).toMatch(/^(added \d+ packages|up to date)/m)
  expect(printed).not.toContain('EBADENGINE')
})

// npm 11.16 and later list the packages whose install script is neither allowed nor refused.
test('package.json decides about every install script that npm ci would run', () => {
  const packages: Record<string, { hasInstallScript?: boolean }> = read('package-lock.json').packages
  const withScript = Object.keys(packages)
    .filter((path) => packages[path]?.hasInstallScript)
    .map((path) => path.replace(/.*node_modules\//, ''))
  expect(withScript).not.toEqual([])
  expect(Object.keys(read('package.json').allowScripts).sort()).toEqual(withScript.sort())
})
