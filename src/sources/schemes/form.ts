import { isUtf8 } from 'node:buffer'
import type { Delivery } from '../contract.ts'

// More fields than any form of a provider has; each costs an entry.
const MAX_FIELDS = 1_000

/** The fields of a form body, urlencoded or multipart; the first of each name. Files are left out. */
export function formFields(delivery: Delivery): Record<string, string> | undefined {
  const { body } = delivery
  if (body.length === 0 || !isUtf8(body)) return undefined
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  const boundary = /^multipart\/form-data\s*;.*\bboundary="?([^";]{1,70})"?/i.exec(
    delivery.header('content-type') ?? '',
  )?.[1]
  const pairs = boundary === undefined ? new URLSearchParams(text) : multipartFields(text, boundary)
  const fields: Record<string, string> = Object.create(null)
  let count = 0
  for (const [name, value] of pairs) {
    if (++count > MAX_FIELDS) return undefined
    fields[name] ??= value
  }
  return count === 0 ? undefined : fields
}

function* multipartFields(text: string, boundary: string): Iterable<[name: string, value: string]> {
  const mark = `--${boundary}`
  for (let at = text.indexOf(mark); at >= 0; ) {
    const begin = at + mark.length
    const end = text.indexOf(`\r\n${mark}`, begin)
    if (end < 0) return
    const head = text.indexOf('\r\n\r\n', begin)
    if (head >= 0 && head < end) {
      const name = /^content-disposition:\s*form-data\s*;\s*name="([^"\r\n]*)"\s*\r?$/im.exec(
        text.slice(begin, head),
      )?.[1]
      if (name !== undefined) yield [name, text.slice(head + 4, end)]
    }
    at = end + 2
  }
}
