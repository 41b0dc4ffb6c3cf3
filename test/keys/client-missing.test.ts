import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

/** The package of a user who has installed none of the optional clients. */
function bareInstallation(): string {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-bare-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  mkdirSync(join(dir, 'node_modules'))
  symlinkSync(resolve('node_modules/zod'), join(dir, 'node_modules/zod'))
  cpSync('dist', join(dir, 'dist'), { recursive: true })
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }')
  return dir
}

test.each([
  ["redisKeys({ url: 'redis://127.0.0.1:1' })", 'npm install ioredis'],
  ['dynamoKeys()', 'npm install @aws-sdk/client-dynamodb'],
  ['firestoreKeys()', 'npm install @google-cloud/firestore'],
])('%s without its client names the package to install', (open, advice) => {
  const dir = bareInstallation()
  const program = `
    import { dynamoKeys, firestoreKeys, once, redisKeys } from './dist/keys/index.js'
    const ended = await once(${open}, 'k', () => 'ran', { tenant: 'global' }).catch((error) => error)
    console.log(ended.code, ended.message)`
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: dir,
    encoding: 'utf8',
  })
  expect(said).toMatch(/^CLIENT_MISSING /)
  expect(said).toContain(advice)
})

test('redisKeys({ url }) without its client fails when it is created, once, before any request', () => {
  const dir = bareInstallation()
  const program = `
    import { redisKeys } from './dist/keys/index.js'
    redisKeys({ url: 'redis://127.0.0.1:1' })`
  const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: dir,
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  expect(stderr.match(/CLIENT_MISSING.*npm install ioredis/g)).toHaveLength(1)
})

test('bundlers leave clients that are not installed to the run', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!test)\.ts$/.test(file),
  )
  const loading = sources.flatMap((file) =>
    readFileSync(join('src', file), 'utf8')
      .split('\n')
      .filter((line) => /await import\((\/\*[^*]*\*\/ )?'[^.]/.test(line)),
  )
  const optional = loading.filter((line) => !line.includes("'pg'"))
  expect(optional).toHaveLength(5)
  // webpack, and with it Next.js, would refuse to build without them.
  for (const line of optional) expect(line).toContain('/* webpackIgnore: true */')
})
