import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { hookonce, type Logger } from '../../src/index.ts'
import { whyEphemeral } from '../../src/ledger/embedded/ephemeral.ts'
import { cli } from '../support/cli.ts'
import { signed, testSource } from '../support/source.ts'
import { initialisedHome, temporaryHome } from './embedded-server.ts'

const nothing = (): undefined => undefined

function production(): void {
  vi.stubEnv('NODE_ENV', 'production')
  onTestFinished(() => void vi.unstubAllEnvs())
}

describe('without a database, in production', { timeout: 60_000 }, () => {
  it('nothing starts and nothing is accepted, and the error names both solutions', async () => {
    production()
    const dir = await temporaryHome()
    const errors: unknown[] = []
    const logger: Logger = { info: nothing, warn: nothing, error: (fields) => errors.push(fields) }
    const hooks = hookonce({ dir, logger, sources: { test: testSource() } }).on('test', '*', nothing)
    const started = hooks.start()
    await expect(started).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    for (const way of ['NODE_ENV', 'postgres://', "'embedded'"]) await expect(started).rejects.toThrow(way)
    const delivery = new Request('http://app.test/in/test', signed({ id: 'evt_1', type: 'a' }))
    expect((await hooks.fetch(delivery)).status).toBe(503)
    expect(errors).toMatchObject([{ error: expect.stringContaining("'embedded'") }])
    expect(existsSync(dir)).toBe(false)
  })

  it('the gateway reports the same in one line', async () => {
    const dir = await temporaryHome()
    await mkdir(dir)
    const config = join(dir, 'hookonce.json')
    const source = { provider: 'stripe', secret: 'env:SECRET' }
    const destination = { url: 'http://127.0.0.1:1', secret: 'env:SECRET', allowPrivate: ['127.0.0.1'] }
    await writeFile(config, JSON.stringify({ sources: { source }, destinations: { destination } }))
    const { code, stderr } = await cli(
      ['serve', '--config', config, '--port', '0', '--dir', join(dir, 'x')],
      {
        NODE_ENV: 'production',
        SECRET: `whsec_${'a'.repeat(40)}`,
      },
    )
    expect([code, stderr.trim().split('\n')]).toEqual([1, [expect.stringContaining('DATABASE_URL')]])
    expect(existsSync(join(dir, 'x'))).toBe(false)
  })

  it("database: 'embedded' starts it, and a temporary folder causes a warning", async () => {
    production()
    const dir = await initialisedHome()
    const warnings: unknown[] = []
    const logger: Logger = {
      info: nothing,
      warn: (fields, message) => warnings.push({ ...fields, message }),
      error: nothing,
    }
    const hooks = hookonce({ database: 'embedded', dir, logger, sources: { test: testSource() } })
    onTestFinished(() => hooks.stop({ drainMs: 0 }))
    hooks.on('test', '*', nothing)
    await hooks.start()
    const delivery = new Request('http://app.test/in/test', signed({ id: 'evt_1', type: 'a' }))
    expect((await hooks.fetch(delivery)).status).toBe(202)
    expect(warnings).toEqual([
      {
        message: expect.stringContaining('lost'),
        detail: expect.stringMatching(/temporary folder .* `dir` .* `database`/),
      },
    ])
  })
})

describe('a temporary folder', () => {
  const TMPFS = 0x01_02_19_94
  const OVERLAY = 0x79_4c_76_30
  const EXT4 = 0xef_53
  const on = (type: number) => async () => ({ type })

  it.each([
    ['/tmp/x', EXT4, '/tmp'],
    ['/var/tmp', EXT4, '/var/tmp'],
    ['/dev/shm/x', EXT4, '/dev/shm'],
    ['/srv/x', TMPFS, 'in memory'],
    ['/app/.hookonce', OVERLAY, 'container'],
  ])('%s on a file system of type %i is recognised by %s', async (path, type, says) => {
    expect(await whyEphemeral(path, on(type))).toContain(says)
  })

  it.each(['/srv/x', '/tmpfiles/x', '/home/me/tmp/x'])('%s on a disk is not temporary', async (path) => {
    expect(await whyEphemeral(path, on(EXT4))).toBeUndefined()
  })

  it('if the type of the file system is unknown, only the path counts', async () => {
    const unknown = () => Promise.reject(new Error('not implemented'))
    expect(await whyEphemeral('/srv/x', unknown)).toBeUndefined()
    expect(await whyEphemeral('/tmp/x', unknown)).toContain('/tmp')
  })
})
