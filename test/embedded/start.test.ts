import { readFileSync } from 'node:fs'
import { readFile, stat, truncate } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startEmbedded } from '../../src/ledger/embedded/embedded.ts'
import {
  initialisedHome,
  postmasterPid,
  query,
  startMember,
  temporaryHome,
  until,
} from './embedded-server.ts'

async function occupy(port: number): Promise<number> {
  const server: Server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  onTestFinished(() => void server.close())
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

describe('starting', { timeout: 60_000 }, () => {
  it('makes a durable, password-protected server that listens on loopback alone', async () => {
    const dir = await temporaryHome()
    const server = await startEmbedded({ dir })
    expect(server.adopted).toBe(false)

    const names = [
      'fsync',
      'synchronous_commit',
      'full_page_writes',
      'listen_addresses',
      'unix_socket_directories',
      'max_connections',
      'shared_buffers',
      'server_encoding',
      'data_directory',
    ]
    const settings = await query<{ name: string; value: string }>(
      server.url,
      `select name, current_setting(name) as value from pg_settings where name in ('${names.join("','")}')`,
    )
    expect(Object.fromEntries(settings.map(({ name, value }) => [name, value]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '100',
      shared_buffers: '128MB',
      server_encoding: 'UTF8',
      data_directory: server.dataDir,
    })
    expect((await stat(join(dir, 'password'))).mode & 0o777).toBe(0o600)
    const stranger = server.url.replace(/:[0-9a-f]+@/, ':wrong@')
    await expect(query(stranger, 'select 1')).rejects.toMatchObject({ code: '28P01' })
    const listeners = listenersOn(Number(new URL(server.url).port))
    expect(listeners).toEqual(['0100007F'])
    await server.leave()
  })

  it('keeps the data and the URL over a restart', async () => {
    const dir = await initialisedHome()
    const first = await startEmbedded({ dir })
    await query(first.url, 'create table kept (n int); insert into kept values (7)')
    await first.leave()
    const before = performance.now()
    const second = await startEmbedded({ dir })
    expect(performance.now() - before).toBeLessThan(2_000)
    expect(second).toMatchObject({ url: first.url, adopted: false, dataDir: first.dataDir })
    expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }])
    await second.leave()
  })

  it('takes another port, and remembers it, if the remembered port is taken', async () => {
    const dir = await initialisedHome()
    const first = await startEmbedded({ dir })
    await first.leave()
    await occupy(Number(new URL(first.url).port))
    const second = await startEmbedded({ dir })
    await second.leave()
    const third = await startEmbedded({ dir })
    await third.leave()
    expect(second.url).not.toBe(first.url)
    expect(third.url).toBe(second.url)
  })

  it('refuses an explicit port that is taken, and names it', async () => {
    const dir = await initialisedHome()
    const port = await occupy(0)
    await expect(startEmbedded({ dir, port })).rejects.toMatchObject({
      code: 'EMBEDDED_FAILED',
      message: expect.stringContaining(`port ${port} on 127.0.0.1`),
    })
  })

  it('moves an idle server to an explicit port, but not a server with users', async () => {
    const dir = await initialisedHome()
    const left = await startMember(dir)
    await left.kill()
    const port = 20_000 + (process.pid % 900)
    const moved = await startEmbedded({ dir, port })
    expect(new URL(moved.url).port).toBe(String(port))
    await expect(startEmbedded({ dir, port: port + 1 })).rejects.toMatchObject({
      message: expect.stringContaining(`in use on port ${port}`),
    })
    expect(await query(moved.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await moved.leave()
  })

  it('ignores the environment of the user', async () => {
    const dir = await temporaryHome()
    const hostile = {
      PGPORT: '1',
      PGDATA: '/nowhere',
      PGOPTIONS: '-c nonsense=1',
      PGUSER: 'somebody',
      PGDATABASE: 'elsewhere',
      PGSSLMODE: 'require',
      PGHOST: '203.0.113.1',
      LC_ALL: 'xx_XX.UTF-8',
      STRIPE_WEBHOOK_SECRET: 'whsec_do_not_leak',
    }
    for (const [name, value] of Object.entries(hostile)) vi.stubEnv(name, value)
    onTestFinished(() => void vi.unstubAllEnvs())
    const server = await startEmbedded({ dir })
    const environment = await readFile(`/proc/${postmasterPid(server.dataDir)}/environ`, 'utf8')
    const names = environment.split('\0').map((entry) => entry.split('=')[0])
    // The server itself may set PGDATA and PG_GRANDPARENT_PID, for its children.
    expect(names).not.toEqual(expect.arrayContaining(['PGPORT']))
    expect(names).not.toEqual(expect.arrayContaining(['PGOPTIONS']))
    expect(environment).not.toContain('/nowhere')
    expect(environment).not.toContain('whsec_do_not_leak')
    await server.leave()
  })

  it('starts a new log when the old one has grown', async () => {
    const dir = await initialisedHome()
    const first = await startEmbedded({ dir })
    await first.leave()
    await truncate(join(dir, 'postgres.log'), 11 * 1024 * 1024)
    const second = await startEmbedded({ dir })
    expect((await stat(join(dir, 'postgres.log.1'))).size).toBe(11 * 1024 * 1024)
    await until(() => readFileSync(join(dir, 'postgres.log'), 'utf8').includes('ready to accept connections'))
    await second.leave()
  })
})

/** The local addresses, in the kernel's notation, on which a process listens at this port. */
function listenersOn(port: number): string[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => readFileSync(file, 'utf8').split('\n'))
  return lines.flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/)
    const [address = '', localPort] = local.split(':')
    return state === '0A' && localPort === hexPort ? [address] : []
  })
}
