import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { NEEDS_LINUX_X64 } from '../support/declared-skips.ts'
import { output } from './support/command.ts'
import { addScripts, play } from './support/play.ts'

/*
 * Each supported Node.js: 20 is the oldest release that `engines` allows, and the other releases
 * are the newest of their line.
 */

test.for([20, 22, 24, 26])('runs on Node.js %i', async (line, context) => {
  const bin = join(import.meta.dirname, 'node_modules', `node-${line}`, 'bin')
  if (!existsSync(bin)) return context.skip(NEEDS_LINUX_X64)
  const node = join(bin, 'node')
  const cwd = inject('installedApp')
  expect(await output([node, '--version'], { cwd })).toMatch(new RegExp(`^v${line}\\.`))
  addScripts(cwd)
  await play({ cwd, node: [node], hookonce: [node, 'node_modules/.bin/hookonce'] })
})
