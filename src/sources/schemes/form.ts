import * as buffer from 'node:buffer'
import type { Delivery } from '../contract.ts'

// More fields than any provider's form has. Each field costs an entry.
const MAX_FIELDS = 1_000

/**
 * The fields of a form body, urlencoded or multipart. Of duplicate names the first is used, and
 * files are omitted.
 */
export function formFields(delivery: Delivery): Record<string, string> | undefined {
  const { body } = delivery
  if (body.length === 0 || !buffer.isUtf8(body)) return undefined
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  const boundary = /^multipart\/form-data\s*;.*\bboundary="?([^";]{1,70})"?/i.exec(
    delivery.header('content-type') ?? '',
  )?.[1]
  const pairs = boundary === undefined ? urlencodedFields(text) : multipartFields(text, boundary)
  if (pairs === undefined || pairs.length === 0) return undefined
  const fields: Record<string, string> = Object.create(null)
  for (const [name, value] of pairs) fields[name] ??= value
  return fields
}

type Fields = [name: string, value: string][]

/**
 * The fields in their order. Undefined if there are too many. They are counted first, because the
 * sender is not verified yet.
 */
export function urlencodedFields(text: string): Fields | undefined {
  let count = 0
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1))
    if (++count >= MAX_FIELDS) return undefined
  return [...new URLSearchParams(text)]
}

function multipartFields(text: string, boundary: string): Fields | undefined {
  const mark = `--${boundary}`
  const fields: Fields = []
  let count = 0
  for (let at = text.indexOf(mark); at >= 0; ) {
    const begin = at + mark.length
    const end = text.indexOf(`\r\n${mark}`, begin)
    if (end < 0) break
    // Parts without a name count too, because they cost the same.
    if (++count > MAX_FIELDS) return undefined
    // Searches only inside the part. Otherwise a part without headers would be searched to the end
    // of the body.
    const part = text.slice(begin, end)
    const head = part.indexOf('\r\n\r\n')
    const name = head < 0 ? undefined : nameIn(part.slice(0, head))
    if (name !== undefined) fields.push([name, part.slice(head + 4)])
    at = end + 2
  }
  return fields
}

function nameIn(head: string): string | undefined {
  return /^content-disposition:\s*form-data\s*;\s*name="([^"\r\n]*)"\s*\r?$/im.exec(head)?.[1]
}
