import { createHash, createSecretKey, type KeyObject } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'

/** A key that wraps data keys. It is configured, and never stored. */
export interface MasterKey {
  /** The beginning of a hash of the key: the same wherever the key is configured. */
  readonly id: string
  readonly key: KeyObject
}

const KEY_BYTES = 32
/** Two are enough for a rotation. */
const MAX_KEYS = 8

/** The first key wraps new data keys. The others only open older ones. */
export function parseMasterKeys(texts: readonly string[], where: string): MasterKey[] {
  if (texts.length > MAX_KEYS)
    throw new HookonceError('CONFIG_INVALID', `${where}: at most ${MAX_KEYS} keys are allowed`)
  return texts.map((text, index) => {
    const bytes = keyBytes(text.trim())
    if (bytes?.length !== KEY_BYTES) {
      // Omits the text, which may be most of a key.
      throw new HookonceError(
        'CONFIG_INVALID',
        `${where}: key ${index + 1} is not 32 bytes in base64 or hex; make one with \`hookonce encryption key\``,
      )
    }
    return { id: fingerprint(bytes), key: createSecretKey(bytes) }
  })
}

function keyBytes(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

function fingerprint(bytes: Buffer): string {
  return createHash('sha256').update('hookonce master key\n').update(bytes).digest('hex').slice(0, 16)
}
