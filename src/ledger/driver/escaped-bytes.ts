/**
 * Decodes the text of `encode(…, 'escape')`: ASCII is unchanged, a backslash is doubled, every
 * other byte is a backslash and an octal number. Bodies are JSON, so most of the text is unchanged.
 * The usual hexadecimal encoding is twice as long. Binary results are no alternative: `pg` decodes
 * them as UTF-8 and destroys other bytes.
 */
export function bytesOf(escaped: string): Buffer {
  if (!escaped.includes('\\')) return Buffer.from(escaped, 'latin1')
  const bytes = Buffer.allocUnsafe(escaped.length)
  let length = 0
  for (let at = 0; at < escaped.length; at += 1) {
    const code = escaped.charCodeAt(at)
    if (code !== BACKSLASH) bytes[length++] = code
    else if (escaped.charCodeAt(at + 1) === BACKSLASH) {
      bytes[length++] = BACKSLASH
      at += 1
    } else {
      bytes[length++] = Number.parseInt(escaped.slice(at + 1, at + 4), 8)
      at += 3
    }
  }
  return bytes.subarray(0, length)
}

const BACKSLASH = 0x5c
