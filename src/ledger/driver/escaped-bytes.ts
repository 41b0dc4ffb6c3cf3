/**
 * Bytes that came as the text of `encode(…, 'escape')`: ASCII as it is, a backslash doubled, everything else as an
 * octal number behind a backslash. Bodies are JSON, so this is mostly their own text; the usual hexadecimal is twice as
 * long, and has to be built, sent and taken apart. (In binary, `pg` would decode them as UTF-8 and lose what is none.)
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
