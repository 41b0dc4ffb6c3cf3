import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { sep } from 'node:path'

/** Folders that the system empties, at a restart or by age. */
const TEMPORARY = ['/tmp', '/var/tmp', '/dev/shm', '/run']

/** Numbers of file systems on Linux (statfs(2)). No other system uses these numbers. */
const LOST_WITH: ReadonlyMap<number, string> = new Map([
  [0x01_02_19_94, 'is in memory (tmpfs)'],
  [0x85_84_58_f6, 'is in memory (ramfs)'],
  [0x79_4c_76_30, 'is in a file system of a container (overlay), not on a volume'],
])

/** Why a folder will not last; undefined if no reason is known. */
export async function whyEphemeral(
  dir: string,
  fileSystemOf: (path: string) => Promise<{ readonly type: number }> = fs.statfs,
): Promise<string | undefined> {
  const path = await real(dir)
  for (const root of await Promise.all([...TEMPORARY, tmpdir()].map(real)))
    if (path === root || path.startsWith(root + sep)) return `${path} is in the temporary folder ${root}`
  // If the system does not report the file system, only the path decides.
  const { type } = await fileSystemOf(path).catch(() => ({ type: 0 }))
  const lost = LOST_WITH.get(type)
  return lost === undefined ? undefined : `${path} ${lost}`
}

/** A path that does not exist is used unchanged. */
async function real(path: string): Promise<string> {
  return fs.realpath(path).catch(() => path)
}
