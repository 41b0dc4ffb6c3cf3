import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { logSince, openHome, readSmallFile } from './home.ts'

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-home-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return dir
}

test('files of the home are not read through symbolic links', async () => {
  const dir = directory()
  const elsewhere = join(directory(), 'of-somebody-else')
  writeFileSync(elsewhere, 'not for you')
  const home = await openHome(dir)
  for (const path of [home.password, home.port, home.lock, home.log]) symlinkSync(elsewhere, path)
  for (const path of [home.password, home.port, home.lock])
    await expect(readSmallFile(path)).rejects.toThrow(`${path} is a symbolic link`)
  await expect(logSince(home, 0)).rejects.toThrow('symbolic link')
})

test('a file that is not there is undefined, and another one is its text', async () => {
  const home = await openHome(directory())
  expect(await readSmallFile(home.password)).toBeUndefined()
  writeFileSync(home.password, 'secret\n')
  expect(await readSmallFile(home.password)).toBe('secret')
})
