import { chmod, cp, mkdir, open, readdir, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode, removeIfThere } from './home.ts'

/** Copies a tree so that every account can read it and run its programs, whatever our umask is. */
export async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  await cp(from, to, { recursive: true, verbatimSymlinks: true })
  await chmod(dirname(to), 0o755)
  await makeReadable(to)
}

/** Every account can read the tree and run its programs; only its owner can change it. */
export async function makeReadable(root: string): Promise<void> {
  await chmod(root, 0o755)
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    // 755 for files too, because most of them are programs and shared libraries.
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), 0o755)
  }
}

/** The size of all files in a tree. */
export async function bytesIn(root: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size
  return bytes
}

/**
 * Syncs the files of a tree to the disk: after a power failure, a renamed folder must not hold
 * empty files.
 */
export async function syncTree(root: string): Promise<void> {
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    // Windows syncs only files that are open for writing.
    const file = await open(join(entry.parentPath, entry.name), 'r+')
    try {
      await file.sync()
    } finally {
      await file.close()
    }
  }
}

/**
 * Renames a finished directory to its final name. If another process was faster, its directory
 * stays and ours is removed.
 */
export async function renameUnlessThere(temporary: string, destination: string): Promise<void> {
  try {
    await rename(temporary, destination)
  } catch (error) {
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
    await removeIfThere(temporary)
  }
}
