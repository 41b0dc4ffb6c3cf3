import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Delivery, Refusal, Verified } from './contract.ts'
import { github, type Secret, type SecretOwner } from './index.ts'

const START_MS = 1_700_000_000_000
const MINUTE_MS = 60_000

function arriving(secret: string, receivedAtMs: number): Delivery {
  const headers = github({ secret }).sign({ body: '{}' })
  return { method: 'POST', url: '/', header: (name) => headers[name], body: Buffer.from('{}'), receivedAtMs }
}

function receiver(secret: Secret, tenant = 'default') {
  const source = github({ secret, tenant })
  return async (signedWith: string, atMs = START_MS): Promise<Verified | Refusal> => {
    const delivery = arriving(signedWith, atMs)
    return (await source.prepare?.(delivery)) ?? source.verify(delivery)
  }
}

describe('secrets', () => {
  it('come from the environment', async () => {
    vi.stubEnv('HOOKONCE_TEST_SECRET', 'from-env')
    onTestFinished(() => void vi.unstubAllEnvs())
    const receive = receiver(['new', { env: 'HOOKONCE_TEST_SECRET' }])
    expect(await receive('from-env')).toEqual({ ok: true, secret: 2 })
    expect(() => receiver({ env: 'HOOKONCE_NO_SUCH' })).toThrow(/SECRET_MISSING.*HOOKONCE_NO_SUCH/)
  })

  it('come from a file, which is read again after a while', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'hookonce-secret-'))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    const file = join(dir, 'secret')
    expect(() => receiver({ file })).toThrow(/SECRET_MISSING.*cannot be read/)
    writeFileSync(file, 'first\n')
    const receive = receiver({ file })
    expect(await receive('first')).toMatchObject({ ok: true })
    writeFileSync(file, 'second\n')
    expect(await receive('second', START_MS + 1_000)).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    // A delivery that finds the secret stale triggers a read, and is verified with the current keys
    // without waiting.
    await receive('second', START_MS + 2 * MINUTE_MS)
    expect(await receive('second', START_MS + 2 * MINUTE_MS + 1)).toMatchObject({ ok: true })
    rmSync(file)
    await receive('second', START_MS + 4 * MINUTE_MS)
    expect(await receive('second', START_MS + 4 * MINUTE_MS + 1)).toMatchObject({ ok: true })
  })

  it('come from a function, which is called once for many deliveries, with provider and tenant', async () => {
    const asked: SecretOwner[] = []
    const receive = receiver(async (owner) => {
      asked.push(owner)
      return ['new', `of-${owner.tenant}`]
    }, 'acme')
    const answers = await Promise.all([receive('of-acme'), receive('of-acme'), receive('of-other')])
    expect(answers).toMatchObject([{ ok: true, secret: 2 }, { ok: true }, { code: 'SIGNATURE_MISMATCH' }])
    await receive('of-acme', START_MS + 1_000)
    expect(asked).toEqual([{ provider: 'github', tenant: 'acme' }])
  })

  it('are unavailable while the function fails: the sender must retry, and the function is not called at once again', async () => {
    let asked = 0
    const receive = receiver(() => {
      asked += 1
      if (asked === 1) throw new Error('the vault says s3cret')
      return 'found'
    })
    const refused = await receive('found')
    expect(refused).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(JSON.stringify(refused)).not.toContain('s3cret')
    expect(await receive('found', START_MS + 1_000)).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(asked).toBe(1)
    expect(await receive('found', START_MS + 6_000)).toMatchObject({ ok: true })
  })

  it('stay valid while the function does not return, and are requested again later', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    let asked = 0
    const receive = receiver(() => {
      asked += 1
      return asked === 2 ? new Promise<string>(() => undefined) : `secret-${asked}`
    })
    expect(await receive('secret-1')).toMatchObject({ ok: true })
    expect(await receive('secret-1', START_MS + 2 * MINUTE_MS)).toMatchObject({ ok: true })
    await vi.advanceTimersByTimeAsync(5_000)
    await receive('secret-3', START_MS + 3 * MINUTE_MS)
    expect(await receive('secret-3', START_MS + 3 * MINUTE_MS + 1)).toMatchObject({ ok: true })
    expect(asked).toBe(3)
  })

  it('are unavailable if the function does not return within five seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const refused = receiver(() => new Promise<string>(() => undefined))('x')
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await refused).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
  })

  it('are unavailable if the function returns none', async () => {
    expect(await receiver(() => [undefined, ''])('x')).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
  })
})
