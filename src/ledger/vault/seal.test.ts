import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { parseMasterKeys } from './master-keys.ts'
import { isKeyedHash, keyedHash, openPayload, sealPayload, unwrapKey, wrapKey } from './seal.ts'

const ID = '00000000-0000-4000-8000-000000000001'
const OTHER = '00000000-0000-4000-8000-000000000002'
const dataKey = { id: 7, key: randomBytes(32) }
const payload = { headers: 'a: é\nb: c\n', body: Buffer.from('{"a":1}') }

describe('a sealed payload', () => {
  it('opens as it was, whatever its bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.uint8Array({ maxLength: 2_000 }), (headers, body) => {
        const opened = openPayload(sealPayload({ headers, body }, ID, dataKey), ID, dataKey)
        expect(opened.headers).toBe(headers)
        expect(Buffer.compare(opened.body, body)).toBe(0)
      }),
    )
  })

  it('does not open if any of its bytes is changed', () => {
    const sealed = sealPayload(payload, ID, dataKey)
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(() => openPayload(changed, ID, dataKey)).toThrow()
    }
    for (let length = 0; length < sealed.length; length += 1)
      expect(() => openPayload(sealed.subarray(0, length), ID, dataKey)).toThrow()
  })

  it('opens only for its receipt, and with its data key', () => {
    const sealed = sealPayload(payload, ID, dataKey)
    expect(() => openPayload(sealed, OTHER, dataKey)).toThrow()
    expect(() => openPayload(sealed, ID, { ...dataKey, id: 8 })).toThrow()
    expect(() => openPayload(sealed, ID, { ...dataKey, key: randomBytes(32) })).toThrow()
  })

  it('is different each time', () => {
    expect(sealPayload(payload, ID, dataKey)).not.toEqual(sealPayload(payload, ID, dataKey))
  })
})

test('a wrapped key opens only for its tenant and purpose', () => {
  const [master, other] = parseMasterKeys([newText(), newText()], 'test')
  if (!master || !other) throw new Error('no keys')
  const context = { tenant: 'a', purpose: 'payload' }
  const wrapped = wrapKey(dataKey.key, master.key, context)
  expect(unwrapKey(wrapped, master.key, context)).toEqual(dataKey.key)
  expect(() => unwrapKey(wrapped, master.key, { ...context, tenant: 'b' })).toThrow()
  expect(() => unwrapKey(wrapped, master.key, { ...context, purpose: 'hash' })).toThrow()
  expect(() => unwrapKey(wrapped, other.key, context)).toThrow()
})

test('equal bodies of two receipts have different hashes, and no plain hash looks like one', () => {
  const key = randomBytes(32)
  expect(keyedHash(payload.body, ID, key)).toEqual(keyedHash(payload.body, ID, key))
  expect(keyedHash(payload.body, ID, key)).not.toEqual(keyedHash(payload.body, OTHER, key))
  expect(isKeyedHash(keyedHash(payload.body, ID, key))).toBe(true)
  expect(isKeyedHash(randomBytes(32))).toBe(false)
})

describe('a master key', () => {
  it('has one id, in base64, base64url and hex', () => {
    const bytes = Buffer.from([...Array(31).fill(0xfb), 0xff])
    const texts = [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')]
    const ids = parseMasterKeys([...texts, ` ${texts[0]}\n`], 'test').map(({ id }) => id)
    expect(new Set(ids).size).toBe(1)
    expect(parseMasterKeys([newText()], 'test')[0]?.id).not.toBe(ids[0])
  })

  it.each(['', 'short', 'x'.repeat(44), `${'a'.repeat(42)}==`, 'g'.repeat(64)])(
    'is refused if it is not 32 bytes: %s',
    (text) => {
      expect(() => parseMasterKeys([newText(), text], 'where')).toThrow('where: key 2 is not 32 bytes')
    },
  )
})

function newText(): string {
  return randomBytes(32).toString('base64')
}
