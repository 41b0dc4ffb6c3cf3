import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { takeLock } from '../../src/ledger/embedded/start-lock.ts'

async function lockPath(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'hookonce-lock-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  return join(dir, 'lock')
}

describe('the start lock', { timeout: 60_000 }, () => {
  it('admits one process at a time, also while holders are killed', async () => {
    const path = await lockPath()
    const script = fileURLToPath(new URL('lock-holder.mjs', import.meta.url))
    // Six processes finish, and six are killed while they hold the lock, each in another round:
    // twelve processes compete for every dead lock.
    const holders = Array.from({ length: 12 }, (_, i) =>
      spawn(process.execPath, [script, path, '30', i < 6 ? 'never' : String(i)], { stdio: 'inherit' }),
    )
    const ends = await Promise.all(holders.map((holder) => once(holder, 'exit')))
    expect(ends.slice(0, 6)).toEqual(Array.from({ length: 6 }, () => [0, null]))
    expect(ends.slice(6)).toEqual(Array.from({ length: 6 }, () => [null, 'SIGKILL']))
    const release = await takeLock(path, 1_000)
    await release()
    expect(await readdir(join(path, '..'))).toEqual([])
  })

  it('removes a dead lock only under the lock that is named after it', async () => {
    const path = await lockPath()
    await writeFile(path, JSON.stringify({ pid: process.pid, identity: 'dead', token: 't1' }))
    const releaseOver = await takeLock(`${path}.over-t1`, 1_000)
    await expect(takeLock(path, 100)).rejects.toMatchObject({ code: 'EMBEDDED_FAILED' })
    expect(await readFile(path, 'utf8')).toContain('t1')
    await releaseOver()
    const release = await takeLock(path, 1_000)
    await release()
  })

  it('waits no longer than requested, and names the holder', async () => {
    const path = await lockPath()
    const release = await takeLock(path, 1_000)
    await expect(takeLock(path, 50)).rejects.toMatchObject({
      code: 'EMBEDDED_FAILED',
      message: expect.stringContaining(`process ${process.pid}`),
    })
    await release()
  })

  it.each([
    [
      'a process of an earlier boot with our pid',
      JSON.stringify({ pid: process.pid, identity: '1', token: 'a' }),
    ],
    ['nothing, since power was lost', ''],
  ])('is taken over from %s', async (_, content) => {
    const path = await lockPath()
    await writeFile(path, content)
    const release = await takeLock(path, 1_000)
    await release()
  })
})
