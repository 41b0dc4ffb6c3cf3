import { symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { hasCode, isThere, readSmallFile } from './home.ts'

/**
 * Creates the library links that npm packages cannot contain. The package has an install script for
 * them, which does not run under --ignore-scripts. Returns false if links are missing and cannot be
 * created here.
 */
export async function makeLinks(root: string): Promise<boolean> {
  const list = await readSmallFile(join(root, 'native', 'pg-symlinks.json'))
  // Windows libraries need none.
  if (list === undefined) return true
  const links: readonly { source: string; target: string }[] = JSON.parse(list)
  for (const { source, target } of links) {
    const path = join(root, target)
    if (await isThere(path)) continue
    try {
      await symlink(basename(source), path)
    } catch (error) {
      if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false
      // EEXIST: another process has just created them.
      if (!hasCode(error, 'EEXIST')) throw error
    }
  }
  return true
}
