import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { binariesFor } from '../../src/ledger/embedded/binaries.ts'
import { startEmbedded } from '../../src/ledger/embedded/embedded.ts'
import { run } from '../../src/ledger/embedded/run.ts'
import {
  initialisedHome,
  isRoot,
  memberProcess,
  nobody,
  postmasterPid,
  query,
  startMember,
  temporaryHome,
  until,
} from './embedded-server.ts'

describe('a platform without the programs', () => {
  it.each([
    ['sunos', 'sparc'],
    ['linux', 'riscv64'],
    ['win32', 'arm64'],
  ])('%s-%s is refused by name, with DATABASE_URL as the alternative', async (platform, arch) => {
    const refusal = binariesFor(platform, arch)
    await expect(refusal).rejects.toMatchObject({ code: 'EMBEDDED_UNSUPPORTED' })
    await expect(refusal).rejects.toThrow(`${platform}-${arch}`)
    await expect(refusal).rejects.toThrow('DATABASE_URL')
  })

  it('if the programs need another C library, reports it', async () => {
    await expect(run(['/nowhere/postgres'], { account: undefined })).rejects.toMatchObject({
      code: 'EMBEDDED_UNSUPPORTED',
      message: expect.stringContaining('musl'),
    })
  })
})

describe('a start that fails', { timeout: 60_000 }, () => {
  it('starts afresh after an initialisation that was killed midway', async () => {
    const dir = await temporaryHome()
    const killed = memberProcess(dir)
    await until(async () => {
      const names = existsSync(dir) ? await readdir(dir) : []
      const temporary = names.find((name) => /^postgres\.tmp-[0-9a-f]+$/.test(name))
      return temporary !== undefined && existsSync(join(dir, temporary, 'PG_VERSION'))
    })
    killed.kill('SIGKILL')
    expect(await readdir(dir)).not.toContain('postgres')
    const server = await startEmbedded({ dir })
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await server.leave()
    expect((await readdir(dir)).sort()).toEqual([
      '.gitignore',
      'password',
      'port',
      'postgres',
      'postgres.log',
    ])
  })

  it('has the last log lines of the server: a damaged data directory', async () => {
    const dir = await initialisedHome()
    const server = await startEmbedded({ dir })
    await server.leave()
    await rm(join(server.dataDir, 'global', 'pg_control'))
    await expect(startEmbedded({ dir })).rejects.toMatchObject({
      code: 'EMBEDDED_FAILED',
      message: expect.stringMatching(/could not find the database system[\s\S]*pg_control/),
    })
    // The damaged data still exists, for an investigation.
    expect(await readdir(server.dataDir)).toContain('base')
  })

  it('has the last log lines of the server: an unknown setting', async () => {
    const dir = await initialisedHome()
    const server = await startEmbedded({ dir })
    await server.leave()
    await writeFile(join(server.dataDir, 'postgresql.auto.conf'), "shared_preload_libraries = 'nonsense'\n")
    await expect(startEmbedded({ dir })).rejects.toThrow(/could not access file "nonsense"/)
  })

  it('names a missing library', async () => {
    const dir = await temporaryHome()
    await mkdir(join(dir, 'bin'), { recursive: true })
    const { postgres } = await binariesFor(process.platform, process.arch)
    const alone = join(dir, 'bin', 'postgres')
    await run(['/bin/cp', postgres, alone], { account: undefined })
    await expect(run([alone, '--version'], { account: undefined })).rejects.toMatchObject({
      code: 'EMBEDDED_FAILED',
      message: expect.stringMatching(/error while loading shared libraries: lib/),
    })
  })

  it('reports a full disk, and leaves no partial data', async (test) => {
    if (!isRoot) test.skip('needs root to mount a small disk')
    const dir = await temporaryHome()
    await mkdir(dir)
    await run(['/bin/mount', '-t', 'tmpfs', '-o', 'size=20m,mode=755', 'none', dir], { account: undefined })
    onTestFinished(() => run(['/bin/umount', dir], { account: undefined }))
    await expect(startEmbedded({ dir })).rejects.toMatchObject({
      code: 'EMBEDDED_FAILED',
      // PostgreSQL prints one of the two, depending on whether the last write was cut short or
      // refused.
      message: expect.stringMatching(/No space left on device|Check free disk space/),
    })
    expect(await readdir(dir)).toEqual(['.gitignore'])
  })

  it('refuses the data of another major version, untouched', async () => {
    const dir = await initialisedHome()
    const server = await startEmbedded({ dir })
    await server.leave()
    await writeFile(join(server.dataDir, 'PG_VERSION'), '17\n')
    await expect(startEmbedded({ dir })).rejects.toMatchObject({
      code: 'EMBEDDED_FAILED',
      message: expect.stringMatching(/made by PostgreSQL 17, .* contains PostgreSQL 18.*pg_dump/),
    })
    await writeFile(join(server.dataDir, 'PG_VERSION'), '18\n')
    const mended = await startEmbedded({ dir })
    await mended.leave()
  })

  it('never replaces a directory that holds no data, nor a link whose target is gone', async () => {
    const dir = await temporaryHome()
    await mkdir(join(dir, 'postgres'), { recursive: true })
    await writeFile(join(dir, 'postgres', 'precious'), 'x')
    await expect(startEmbedded({ dir })).rejects.toThrow(/not a PostgreSQL data directory/)
    expect(await readdir(join(dir, 'postgres'))).toEqual(['precious'])
    await rename(join(dir, 'postgres'), join(dir, 'precious'))
    await symlink('/nowhere/at/all', join(dir, 'postgres'))
    await expect(startEmbedded({ dir })).rejects.toThrow(/points to a data directory that is gone/)
  })

  it('sets a new password when the file was lost, but not under a running server', async () => {
    const dir = await initialisedHome()
    const first = await startEmbedded({ dir })
    await rm(join(dir, 'password'))
    const pid = postmasterPid(first.dataDir)
    await expect(startEmbedded({ dir })).rejects.toThrow(`kill -INT ${pid}`)
    await first.leave()
    const second = await startEmbedded({ dir })
    expect(second.url).not.toBe(first.url)
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await second.leave()
  })

  it('names a home that cannot be created', async () => {
    const dir = await temporaryHome()
    await writeFile(dir, 'a file')
    await expect(startEmbedded({ dir })).rejects.toMatchObject({
      code: 'DIR_UNUSABLE',
      message: expect.stringContaining('EEXIST'),
    })
  })

  it('names a home that belongs to another user', async (test) => {
    if (!isRoot) test.skip('needs root to be two users')
    const dir = await temporaryHome()
    await mkdir(dir)
    const member = await startMember(dir, nobody)
    expect(member).toMatchObject({ code: 'DIR_UNUSABLE', error: expect.stringContaining('EACCES') })
  })
})
