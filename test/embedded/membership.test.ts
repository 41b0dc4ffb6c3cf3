import { describe, expect, it } from 'vitest'
import { startEmbedded } from '../../src/ledger/embedded/embedded.ts'
import { join } from '../../src/ledger/embedded/membership.ts'
import { initialisedHome, startMember } from './embedded-server.ts'

describe('membership', { timeout: 60_000 }, () => {
  it('is closed to new processes while the last one stops the server', async () => {
    const dir = await initialisedHome()
    // A server without users: its only user was killed.
    const killed = await startMember(dir)
    await killed.kill()
    const { password, port } = new URL(killed.url)
    const address = { port: Number(port), password }

    const only = await join(address, killed.dataDir)
    let newcomer: unknown = 'nobody asked'
    await only?.leave(async () => {
      newcomer = await join(address, killed.dataDir)
    })
    expect(newcomer).toBe(undefined)
    const next = await join(address, killed.dataDir)
    expect(next).toBeDefined()
    await next?.leave(async () => undefined)
  })

  it('is refused by a server of other data, and by one of another password', async () => {
    const dir = await initialisedHome()
    const server = await startEmbedded({ dir })
    const { password, port } = new URL(server.url)
    await expect(join({ port: Number(port), password }, '/elsewhere')).rejects.toThrow('not /elsewhere')
    await expect(join({ port: Number(port), password: 'wrong' }, server.dataDir)).rejects.toMatchObject({
      code: 'EMBEDDED_FAILED',
      message: expect.stringContaining('refuses the password'),
    })
    await server.leave()
  })
})
