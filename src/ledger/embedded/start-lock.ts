import { randomBytes } from 'node:crypto'
import { link, unlink, writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { HookonceError } from '../../model/errors.ts'
import { hasCode, readSmallFile } from './home.ts'
import { identityOf } from './processes.ts'

/**
 * A lock file that names its holder. A process that finds the holder dead takes the lock over.
 *
 * Taking over is where such locks go wrong: two waiters see the same dead holder, the first
 * replaces the lock, the second removes the lock of the first. So every lock carries a token. A
 * dead lock with token T may only be removed under a second lock named after T, and only if it
 * still carries T. The second lock is of the same kind, so a process that dies while taking over is
 * taken over in turn.
 */
interface Holder {
  readonly pid: number
  readonly identity: string
  readonly token: string
}

/** Takes the lock, waiting for a live holder. Returns a function that releases it. */
export async function takeLock(path: string, waitMs: number): Promise<() => Promise<void>> {
  const deadline = performance.now() + waitMs
  const token = randomBytes(8).toString('hex')
  while (!(await create(path, token))) {
    const holder = await read(path)
    if (holder === undefined) continue
    if ((await identityOf(holder.pid)) !== holder.identity) {
      await removeDead(path, holder, deadline - performance.now())
      continue
    }
    if (performance.now() > deadline) {
      throw new HookonceError(
        'EMBEDDED_FAILED',
        `process ${holder.pid} has been starting the embedded PostgreSQL for ${Math.round(waitMs / 1000)} s (lock ${path}). If it hangs, stop it: that releases the lock.`,
      )
    }
    // 10 ms: an adopting process holds the lock for some 30 ms.
    await delay(10)
  }
  return () => removeFile(path)
}

async function removeDead(path: string, dead: Holder, waitMs: number): Promise<void> {
  const release = await takeLock(`${path}.over-${dead.token}`, waitMs)
  try {
    const current = await read(path)
    if (current?.token === dead.token) await removeFile(path)
  } finally {
    await release()
  }
}

/**
 * False if another process holds it. link(2) makes name and content appear at once: no reader sees
 * a half-written lock.
 */
async function create(path: string, token: string): Promise<boolean> {
  const identity = await identityOf(process.pid)
  const temporary = `${path}.new-${token}`
  await writeFile(temporary, JSON.stringify({ pid: process.pid, identity, token }), { flag: 'wx' })
  try {
    await link(temporary, path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  } finally {
    await removeFile(temporary)
  }
}

async function read(path: string): Promise<Holder | undefined> {
  const text = await readSmallFile(path)
  return text === undefined ? undefined : holderIn(text)
}

function holderIn(text: string): Holder {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    // The machine lost power before the lock reached the disk, so its holder is dead too.
    return { pid: 0, identity: '', token: 'unreadable' }
  }
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    // The whole directory was removed meanwhile, so there is no lock either.
    if (!hasCode(error, 'ENOENT')) throw error
  }
}
