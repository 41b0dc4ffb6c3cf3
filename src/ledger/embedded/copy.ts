import { chmod, cp, mkdir, readdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode, removeIfThere } from './home.ts'

/** Copies a tree so that every account can read it and run its programs, whatever our umask is. */
export async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  await cp(from, to, { recursive: true, verbatimSymlinks: true })
  await chmod(dirname(to), 0o755)
  await chmod(to, 0o755)
  for (const entry of await readdir(to, { recursive: true, withFileTypes: true })) {
    // 755 for files too: programs and shared libraries are most of them.
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), 0o755)
  }
}

/** Gives a finished directory its name; if another process was first, that one's stays and ours goes. */
export async function renameUnlessThere(temporary: string, destination: string): Promise<void> {
  try {
    await rename(temporary, destination)
  } catch (error) {
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
    await removeIfThere(temporary)
  }
}
