import { pbkdf2 } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { digestOf, watchConfig } from './watch-config.ts'

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
/** The number of threads that Node.js uses for background work. */
const THREADS = 4

function configFile(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-watch-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'hookonce.json')
  writeFileSync(file, text)
  return file
}

/** Resolves when the file is applied for the first time. */
function applied(file: string, digest: string | undefined, meanwhile: () => void = () => undefined) {
  return new Promise<void>((resolve) => {
    const apply = async (): Promise<void> => resolve()
    const watching = watchConfig({ file, digest, logger: silent, apply })
    onTestFinished(() => watching.stop())
    meanwhile()
  })
}

test('a file that changed before it was watched is applied', async () => {
  const file = configFile('{"port":1}')
  const digest = digestOf(file)
  writeFileSync(file, '{"port":2}')
  await applied(file, digest)
})

test('a file that changes just when the watch begins is applied', async () => {
  const file = configFile('{"port":1}')
  // Background work that reads the file waits for these threads.
  for (let n = 0; n < THREADS; n += 1) pbkdf2('', '', 100_000, 64, 'sha512', () => undefined)
  await applied(file, digestOf(file), () => writeFileSync(file, '{"port":2}'))
})
