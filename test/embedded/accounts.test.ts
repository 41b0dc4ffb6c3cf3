import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  realpath,
  rm,
  stat,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { binariesFor, prepareBinaries } from '../../src/ledger/embedded/binaries.ts'
import { startEmbedded } from '../../src/ledger/embedded/embedded.ts'
import { run } from '../../src/ledger/embedded/run.ts'
import { isRoot, nobody, postmasterPid, query, startMember, temporaryHome, uidOf } from './embedded-server.ts'

describe.skipIf(!isRoot)('started by root (skipped for others: needs root)', { timeout: 60_000 }, () => {
  it('runs the server as an unprivileged account, in the home where that can reach it', async () => {
    const dir = await temporaryHome()
    const server = await startEmbedded({ dir })
    expect(server.dataDir).toBe(join(dir, 'postgres'))
    expect(uidOf(postmasterPid(server.dataDir))).not.toBe(0)
    expect((await stat(dir)).uid).toBe(0)
    await server.leave()
  })

  it('keeps the data elsewhere when the home is closed to the account, and opens nothing', async () => {
    const dir = await temporaryHome()
    const closed = dirname(dir)
    await chmod(closed, 0o700)
    const first = await startEmbedded({ dir })
    expect(first.dataDir).toMatch(/^\/var\/lib\/hookonce\/[0-9a-f]{16}-[0-9a-f]+$/)
    expect(await readlink(join(dir, 'postgres'))).toBe(first.dataDir)
    expect((await stat(closed)).mode & 0o777).toBe(0o700)
    await query(first.url, 'create table kept (n int)')
    await first.leave()
    const second = await startEmbedded({ dir })
    expect(second).toMatchObject({ dataDir: first.dataDir, url: first.url })
    expect(await query(second.url, 'select n from kept')).toEqual([])
    await second.leave()
  })

  it('copies the programs, once, when they are closed to the account', async () => {
    const root = await mkdtemp(join(tmpdir(), 'hookonce-programs-'))
    onTestFinished(() => rm(root, { recursive: true }))
    const found = await packageCopy(join(root, 'closed'))
    await chmod(root, 0o755)
    // The permissions that npm sets under a umask of 077.
    await run(['/bin/chmod', '-R', 'go=', found.root], { account: undefined })
    const use = { account: nobody, copyRoot: join(root, 'copies') }
    const umask = process.umask(0o077)
    onTestFinished(() => void process.umask(umask))
    const both = await Promise.all([prepareBinaries(found, use), prepareBinaries(found, use)])
    const [copy] = both
    expect(both.map((binaries) => binaries.root)).toEqual([
      join(use.copyRoot, `postgresql-${found.version}`),
      join(use.copyRoot, `postgresql-${found.version}`),
    ])
    expect(await readdir(use.copyRoot)).toEqual([`postgresql-${found.version}`])
    await run([copy.postgres, '--version'], { account: nobody })
    await run([copy.initdb, '--version'], { account: nobody })
  })

  it('goes on as the owner of existing data', async () => {
    const dir = await temporaryHome()
    await mkdir(dir)
    await chown(dir, nobody.uid, nobody.gid)
    const user = await startMember(dir, nobody)
    expect(user.error).toBe(undefined)
    expect(uidOf(postmasterPid(user.dataDir))).toBe(nobody.uid)
    await user.leave()

    const root = await startEmbedded({ dir })
    expect(uidOf(postmasterPid(root.dataDir))).toBe(nobody.uid)
    // The user can still join, and take over again.
    const again = await startMember(dir, nobody)
    expect(again).toMatchObject({ adopted: true, url: root.url })
    await root.leave()
    await again.leave()
    const alone = await startMember(dir, nobody)
    expect(alone).toMatchObject({ adopted: false, url: root.url })
    await alone.leave()
  })

  it('works for the person behind sudo, who owns what it makes', async () => {
    const dir = await temporaryHome()
    vi.stubEnv('SUDO_UID', String(nobody.uid))
    vi.stubEnv('SUDO_GID', String(nobody.gid))
    onTestFinished(() => void vi.unstubAllEnvs())
    const server = await startEmbedded({ dir })
    expect(uidOf(postmasterPid(server.dataDir))).toBe(nobody.uid)
    for (const name of ['.', 'postgres', 'password', 'port', 'postgres.log']) {
      expect((await lstat(join(dir, name))).uid).toBe(nobody.uid)
    }
    await server.leave()
    const person = await startMember(dir, nobody)
    expect(person).toMatchObject({ adopted: false, url: server.url })
    await person.leave()
  })

  it('refuses data that belongs to root', async () => {
    const dir = await temporaryHome()
    await mkdir(join(dir, 'postgres'), { recursive: true })
    await expect(startEmbedded({ dir })).rejects.toMatchObject({
      code: 'EMBEDDED_FAILED',
      message: expect.stringContaining('belongs to root'),
    })
  })
})

describe('the library links', { timeout: 60_000 }, () => {
  it('are made when the install script did not run, by many at once', async () => {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'hookonce-links-')))
    onTestFinished(() => rm(root, { recursive: true }))
    const found = await packageCopy(root)
    await expect(run([found.postgres, '--version'], { account: undefined })).rejects.toThrow(/shared librar/)
    const use = { account: undefined, copyRoot: join(root, 'unused') }
    const prepared = await Promise.all(Array.from({ length: 4 }, () => prepareBinaries(found, use)))
    expect(prepared.map((binaries) => binaries.root)).toEqual([root, root, root, root])
    await run([found.postgres, '--version'], { account: undefined })
    await run([found.initdb, '--version'], { account: undefined })
  })

  it('are made in a copy when the package is read-only', async (test) => {
    if (!isRoot) test.skip('needs root to mount')
    const root = await mkdtemp(join(tmpdir(), 'hookonce-readonly-'))
    onTestFinished(() => rm(root, { recursive: true }))
    const found = await packageCopy(join(root, 'package'))
    await run(['/bin/mount', '--bind', '-o', 'ro', found.root, found.root], { account: undefined })
    onTestFinished(() => run(['/bin/umount', found.root], { account: undefined }))
    const copy = await prepareBinaries(found, { account: undefined, copyRoot: join(root, 'home') })
    expect(copy.root).toBe(join(root, 'home', `postgresql-${found.version}`))
    await run([copy.postgres, '--version'], { account: undefined })
  })
})

/** The platform's package after --ignore-scripts: without links. */
async function packageCopy(root: string) {
  const installed = await binariesFor(process.platform, process.arch)
  await cp(installed.root, root, {
    recursive: true,
    filter: async (path) => !(await lstat(path)).isSymbolicLink(),
  })
  const moved = (path: string) => path.replace(installed.root, root)
  return { ...installed, root, initdb: moved(installed.initdb), postgres: moved(installed.postgres) }
}
