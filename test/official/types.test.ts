import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'

// `npm run check` excludes this folder: the types of the SDKs exist only after they are installed.
it('calls the SDKs as their types say', () => {
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  const tsc = spawnSync(process.execPath, [join(typescript, 'bin', 'tsc'), '-p', import.meta.dirname], {
    encoding: 'utf8',
  })
  expect(tsc).toMatchObject({ status: 0, stdout: '' })
  // On a busy machine: the types of many SDKs are large.
}, 180_000)
