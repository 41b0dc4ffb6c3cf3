import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cacheDir, makeCache, whyUntrusted } from './cache.ts'

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-cache-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return dir
}

const isRoot = process.getuid?.() === 0

test.each([
  [{ HOOKONCE_CACHE: '/srv/cache', XDG_CACHE_HOME: '/xdg' }, 'linux', '/srv/cache'],
  [{ HOOKONCE_CACHE: '', XDG_CACHE_HOME: '/xdg' }, 'linux', '/xdg/hookonce'],
  [{ XDG_CACHE_HOME: 'relative' }, 'linux', join(homedir(), '.cache/hookonce')],
  [{}, 'linux', join(homedir(), '.cache/hookonce')],
  [{}, 'darwin', join(homedir(), 'Library/Caches/hookonce')],
  [{ LOCALAPPDATA: '/local' }, 'win32', '/local/hookonce/cache'],
] as const)('with %j on %s the cache is %s', (env, platform, dir) => {
  vi.spyOn(process, 'getuid').mockReturnValue(1000)
  onTestFinished(() => void vi.restoreAllMocks())
  expect(cacheDir(env, platform)).toBe(dir)
})

test('of root it is where the account of the server can reach it', () => {
  vi.spyOn(process, 'getuid').mockReturnValue(0)
  onTestFinished(() => void vi.restoreAllMocks())
  expect(cacheDir({}, 'linux')).toBe('/var/lib/hookonce')
})

test('a cache that we make can be written by us alone and read by all, whatever the umask is', async () => {
  for (const umask of [0o000, 0o077]) {
    const cache = join(directory(), 'a', 'cache')
    const before = process.umask(umask)
    try {
      await makeCache(cache)
    } finally {
      process.umask(before)
    }
    expect(await whyUntrusted(cache)).toBeUndefined()
  }
})

test.each(['775', '757', '777', '1777'])('a folder of mode %s is not trusted', async (mode) => {
  const dir = directory()
  chmodSync(dir, Number.parseInt(mode, 8))
  expect(await whyUntrusted(dir)).toBe(`${dir} can be written by other accounts`)
})

test('a folder that somebody else can replace is not trusted', async () => {
  const open = directory()
  const cache = join(open, 'between', 'cache')
  mkdirSync(cache, { recursive: true, mode: 0o755 })
  chmodSync(open, 0o777)
  expect(await whyUntrusted(cache)).toBe(`${open} can be written by every account`)
  chmodSync(open, 0o1777)
  expect(await whyUntrusted(cache)).toBeUndefined()
})

test('neither a symbolic link nor a file is trusted', async () => {
  const dir = directory()
  symlinkSync(directory(), join(dir, 'link'))
  writeFileSync(join(dir, 'file'), '')
  expect(await whyUntrusted(join(dir, 'link'))).toContain('is a symbolic link')
  expect(await whyUntrusted(join(dir, 'file'))).toContain('is not a folder')
})

test('a folder of another account is not trusted', async (context) => {
  if (!isRoot) context.skip('needs root to be two users')
  const dir = directory()
  chownSync(dir, 65_534, 65_534)
  expect(await whyUntrusted(dir)).toBe(`${dir} belongs to another account (65534)`)
})
