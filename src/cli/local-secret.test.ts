import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { localSecret } from './local-secret.ts'

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-kept-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return dir
}

test('a secret is created once, readable only for its owner, and ignored by git', () => {
  const dir = join(directory(), 'new')
  const secret = localSecret(dir, 'demo-secret')
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/)
  expect(localSecret(dir, 'demo-secret')).toBe(secret)
  expect(localSecret(dir, 'forward-secret')).not.toBe(secret)
  expect(statSync(join(dir, 'demo-secret')).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(dir, '.gitignore'), 'utf8')).toBe('*\n')
})

test('a dangling symbolic link is not written through', () => {
  const dir = directory()
  const target = join(directory(), 'made-by-a-link')
  symlinkSync(target, join(dir, 'demo-secret'))
  symlinkSync(target, join(dir, '.gitignore'))
  expect(() => localSecret(dir, 'demo-secret')).toThrow('demo-secret is a symbolic link')
  expect(existsSync(target)).toBe(false)
})

test('a symbolic link to a file is neither read as a secret nor changed', () => {
  const dir = directory()
  const target = join(directory(), 'of-somebody-else')
  writeFileSync(target, 'not a secret')
  symlinkSync(target, join(dir, 'demo-secret'))
  expect(() => localSecret(dir, 'demo-secret')).toThrow(
    /is a symbolic link, which is not followed: remove it/,
  )
  expect(readFileSync(target, 'utf8')).toBe('not a secret')
})

test('an empty file is not a secret', () => {
  const dir = directory()
  writeFileSync(join(dir, 'demo-secret'), '\n')
  expect(() => localSecret(dir, 'demo-secret')).toThrow('demo-secret is empty: remove it')
})
