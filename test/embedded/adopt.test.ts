import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startEmbedded } from '../../src/ledger/embedded/embedded.ts'
import {
  initialisedHome,
  isRunning,
  memberProcess,
  postmasterPid,
  query,
  startMember,
  temporaryHome,
  until,
} from './embedded-server.ts'

describe('adopting', { timeout: 60_000 }, () => {
  it('finds the server of a process that was killed, and stops it as its last user', async () => {
    const dir = await initialisedHome()
    const killed = await startMember(dir)
    const pid = postmasterPid(killed.dataDir)
    await killed.kill()
    expect(isRunning(pid)).toBe(true)

    const heir = await startEmbedded({ dir })
    expect(heir).toMatchObject({ adopted: true, url: killed.url, dataDir: killed.dataDir })
    expect(postmasterPid(heir.dataDir)).toBe(pid)
    // The server notices the death of a client a moment later.
    await until(async () => (await members(heir.url)) === 1)
    await heir.leave()
    expect(isRunning(pid)).toBe(false)
  })

  it('survives the death of its server, and starts it again at once on the same port', async () => {
    const dir = await initialisedHome()
    const first = await startEmbedded({ dir })
    await query(first.url, 'create table kept (n int); insert into kept values (7)')
    process.kill(postmasterPid(first.dataDir), 'SIGKILL')
    const second = await startEmbedded({ dir })
    expect(second).toMatchObject({ adopted: false, dataDir: first.dataDir, url: first.url })
    expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }])
    // The first process lost its connection in the crash. It must see that the second has joined.
    await first.leave()
    expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }])
    await second.leave()
  })

  it('waits for a session of the dead server that is still running', async () => {
    const dir = await initialisedHome()
    const first = await startEmbedded({ dir })
    // Blocks until the file exists, so it does not notice the death of its server.
    const busy = query(
      first.url,
      `do $$ begin while pg_stat_file('enough', true) is null loop null; end loop; end $$`,
    ).catch(() => [])
    const active = `select 1 from pg_stat_activity where state = 'active' and query like 'do %'`
    await until(async () => (await query(first.url, active)).length === 1)
    process.kill(postmasterPid(first.dataDir), 'SIGKILL')
    const starting = startEmbedded({ dir })
    const log = () => readFile(join(dir, 'postgres.log'), 'utf8')
    await until(async () => (await log()).includes('pre-existing shared memory block'))
    await writeFile(join(first.dataDir, 'enough'), '')
    const second = await starting
    await busy
    await first.leave()
    await second.leave()
  })

  it('is not confused by a pid file whose pid belongs to another program now', async () => {
    const dir = await initialisedHome()
    const first = await startEmbedded({ dir })
    const pidFile = join(first.dataDir, 'postmaster.pid')
    const lines = (await readFile(pidFile, 'utf8')).split('\n')
    await first.leave()
    // A process of the server's own account: PostgreSQL itself detects those of other accounts.
    const { uid, gid } = await stat(first.dataDir)
    const other = spawn('sleep', ['60'], { uid, gid })
    onTestFinished(() => void other.kill())
    await once(other, 'spawn')
    await writeFile(pidFile, [other.pid, ...lines.slice(1)].join('\n'))

    const second = await startEmbedded({ dir })
    expect(second.adopted).toBe(false)
    expect(other.exitCode).toBe(null)
    await second.leave()
  })

  it('makes one server when many processes start at once', async () => {
    const dir = await temporaryHome()
    const members = await Promise.all(Array.from({ length: 5 }, () => startMember(dir)))
    expect(members.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined, undefined])
    expect(members.filter(({ adopted }) => !adopted)).toHaveLength(1)
    expect(new Set(members.map(({ url }) => url)).size).toBe(1)
    const [first] = members
    if (first === undefined) throw new Error('no member')
    const pid = postmasterPid(first.dataDir)
    await Promise.all(members.map((member) => member.leave()))
    expect(members.map(({ child }) => child.exitCode)).toEqual([0, 0, 0, 0, 0])
    await until(() => !isRunning(pid))
  })

  it('adopts within 200 ms', async () => {
    const dir = await initialisedHome()
    const server = await startEmbedded({ dir })
    const visitor = await startMember(dir)
    expect(visitor).toMatchObject({ adopted: true })
    expect(visitor.ms).toBeLessThan(200)
    await visitor.leave()
    await server.leave()
  })
})

describe('leaving', { timeout: 60_000 }, () => {
  it('keeps the server running while another process uses it; the last one stops it', async () => {
    const dir = await initialisedHome()
    const first = await startEmbedded({ dir })
    const second = await startMember(dir)
    const pid = postmasterPid(first.dataDir)
    await first.leave()
    await first.leave()
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await second.leave()
    expect(isRunning(pid)).toBe(false)
    expect(existsSync(join(first.dataDir, 'postmaster.pid'))).toBe(false)
  })

  it('never fails because the server is gone', async () => {
    const dir = await initialisedHome()
    const server = await startEmbedded({ dir })
    const pid = postmasterPid(server.dataDir)
    process.kill(pid, 'SIGINT')
    await until(() => !isRunning(pid))
    await expect(server.leave()).resolves.toBeUndefined()
  })

  it('never fails because the server and its data are gone', async () => {
    const dir = await initialisedHome()
    const server = await startEmbedded({ dir })
    const pid = postmasterPid(server.dataDir)
    process.kill(pid, 'SIGQUIT')
    await rm(dir, { recursive: true, maxRetries: 5 })
    await until(() => !isRunning(pid))
    await expect(server.leave()).resolves.toBeUndefined()
  })

  it('outlives the loss of its own connection', async () => {
    const dir = await initialisedHome()
    const server = await startEmbedded({ dir })
    const pid = postmasterPid(server.dataDir)
    await query(
      server.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'hookonce membership'`,
    )
    await until(async () => (await members(server.url)) === 0)
    await server.leave()
    expect(isRunning(pid)).toBe(false)
  })

  it('does not keep a process alive that never leaves', async () => {
    const dir = await initialisedHome()
    const server = await startEmbedded({ dir })
    const forgetful = memberProcess(dir, { env: { MEMBER_WAITS: 'no' } })
    forgetful.stdout?.resume()
    expect(await once(forgetful, 'exit')).toEqual([0, null])
    await server.leave()
  })

  it('and joining at the same time never end in a stopping server', async () => {
    const dir = await initialisedHome()
    let current = await startEmbedded({ dir })
    for (let round = 0; round < 15; round++) {
      const [next] = await Promise.all([startEmbedded({ dir }), current.leave()])
      expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }])
      current = next
    }
    await current.leave()
    expect(existsSync(join(current.dataDir, 'postmaster.pid'))).toBe(false)
  })
})

async function members(url: string): Promise<number> {
  const [row] = await query<{ n: number }>(
    url,
    `select count(*)::int as n from pg_stat_activity where application_name = 'hookonce membership'`,
  )
  return row?.n ?? 0
}
