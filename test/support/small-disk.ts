import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A separate file system in memory, which a test can fill at any time. */
export interface SmallDisk {
  readonly dir: string
  /** From now on, no file on it can grow. */
  fill(): void
  free(): void
  usedBytes(): number
  remove(): void
}

/** Undefined: this machine or this user may not mount file systems. */
export function mountSmallDisk(): SmallDisk | undefined {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=755`, 'tmpfs', dir])
  if (mounted.status !== 0) {
    rmSync(dir, { recursive: true })
    return undefined
  }
  // A file system in memory can be resized, but not below its content.
  const resize = (size: string): boolean =>
    spawnSync('mount', ['-o', `remount,size=${size}`, dir]).status === 0
  const usedBytes = (): number => {
    const { blocks, bfree, bsize } = statfsSync(dir)
    return (blocks - bfree) * bsize
  }
  return {
    dir,
    usedBytes,
    fill() {
      // A file may grow between the look and the resize.
      for (let tries = 0; tries < 100; tries += 1) if (resize(String(usedBytes()))) return
      throw new Error(`could not fill the file system at ${dir}`)
    },
    free() {
      if (!resize(SIZE)) throw new Error(`could not resize the file system at ${dir}`)
    },
    remove() {
      // Unmounted lazily: a server that is ending may still use its folder.
      spawnSync('umount', ['-l', dir])
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Enough for a million deliveries. Only written data takes memory. */
const SIZE = '12g'
