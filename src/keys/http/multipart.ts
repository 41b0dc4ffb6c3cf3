import { digest } from '../identity.ts'

/**
 * A digest of the parts of a multipart body. It does not depend on the boundary, which clients
 * choose anew for every retry. Returns undefined if the body is not valid multipart.
 */
export function multipartDigest(body: Uint8Array, contentType: string): string | undefined {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType)
  const name = boundary?.[1] ?? boundary?.[2]
  if (name === undefined) return undefined
  const parts = partsOf(Buffer.from(body), Buffer.from(`\r\n--${name}`))
  return parts && digest(parts.flatMap(({ head, content }) => [head, content]))
}

interface Part {
  readonly head: string
  readonly content: Uint8Array
}

function partsOf(body: Buffer, delimiter: Buffer): Part[] | undefined {
  // Prepend a line break, because the first delimiter has none before it.
  const text = Buffer.concat([Buffer.from('\r\n'), body])
  const parts: Part[] = []
  let at = text.indexOf(delimiter)
  for (;;) {
    if (at < 0) return undefined
    const from = at + delimiter.length
    if (text.subarray(from, from + 2).toString() === '--') return parts
    const next = text.indexOf(delimiter, from)
    const headEnd = text.indexOf('\r\n\r\n', from)
    if (next < 0 || headEnd < 0 || headEnd > next) return undefined
    parts.push({
      head: normalHead(text.subarray(from, headEnd).toString('latin1')),
      content: text.subarray(headEnd + 4, next),
    })
    at = next
  }
}

function normalHead(head: string): string {
  return head
    .split('\r\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase()).trim())
    .sort()
    .join('\n')
}
