import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import { braintree, fusionauth, wix } from '../../../src/sources/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'
import { keyServer } from '../../support/signing-key-server.ts'
import { until } from '../../support/until.ts'

function tokenOf(body: string, key: KeyObject): Record<string, string> {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { request_body_sha256: createHash('sha256').update(body).digest('base64') }
  const signed = `${part({ alg: 'EdDSA', kid: 'k1' })}.${part(claims)}`
  const proof = sign(null, Buffer.from(signed), key).toString('base64url')
  return { 'x-fusionauth-signature-jwt': `${signed}.${proof}` }
}

test('a delivery whose keys are fetched is recorded once; without keys the sender must retry', async () => {
  const db = await freshDatabase()
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const keys = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1' }] })
  const up = await keyServer(() => keys)
  const down = await keyServer(() => keys)
  await down.stop()
  const sources = {
    up: fusionauth({ settings: { url: up.url } }),
    down: fusionauth({ settings: { url: down.url } }),
  }
  const { post, stop } = receiving(db, { sources })
  const body = JSON.stringify({ event: { id: 'e-1', type: 'user.create' } })
  const send = (name: string, key = privateKey): Promise<Response> =>
    post({ method: 'POST', body, headers: tokenOf(body, key) }, `/in/${name}`)

  const answers = await Promise.all([send('up'), send('up'), send('up')])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 202])
  expect(up.requests).toHaveLength(1)
  expect((await send('up', generateKeyPairSync('ed25519').privateKey)).status).toBe(401)

  for (const refused of [await send('down'), await send('down')]) {
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(await refused.json()).toEqual({ error: 'KEYS_UNAVAILABLE' })
  }
  await stop()
  await up.stop()
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
})

test('a body that only code can read is recorded unchanged, and read again by the handler', async () => {
  const db = await freshDatabase()
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const sources = {
    wix: wix({ secret: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() }),
    braintree: braintree({ secret: 'private', settings: { publicKey: 'public' } }),
  }
  const seen: Record<string, unknown> = {}
  const { hooks, post } = receiving(db, {
    sources,
    handler: (event) => {
      seen[event.source] = event.object
    },
  })
  const samples = {
    wix: { data: { eventType: 'made', data: { id: 'w-1', entityId: 'x' } } },
    braintree: {
      notification: { kind: 'check', timestamp: '2026-01-02T03:04:05Z', subject: { check: 'true' } },
    },
  }
  for (const name of ['wix', 'braintree'] as const) {
    const { headers, body } = sources[name].deliver({ body: JSON.stringify(samples[name]) })
    const answer = await post({ method: 'POST', headers, body: Buffer.from(body) }, `/in/${name}`)
    expect(answer.ok).toBe(true)
  }
  await hooks.start()
  await until('both handled', () => Object.keys(seen).length === 2)
  expect(seen).toEqual({ wix: { id: 'w-1', entityId: 'x' }, braintree: { check: 'true' } })
})
