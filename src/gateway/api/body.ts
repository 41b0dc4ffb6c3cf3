import type { IncomingMessage } from 'node:http'
import { HookonceError } from '../../model/errors.ts'

/** Far more than any request of the API needs. */
const MAX_BODY_BYTES = 64 * 1024
/** A slower sender is probably an attacker. Its connection is closed. */
const BODY_WITHIN_MS = 5_000

/** Reads a JSON body. */
export async function readJsonBody(request: IncomingMessage): Promise<string> {
  // A form of another site could send text/plain, but never this type.
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new HookonceError('CONTENT_TYPE_UNSUPPORTED', 'the content-type is not application/json')
  const chunks: Buffer[] = []
  let size = 0
  const timer = setTimeout(() => request.destroy(), BODY_WITHIN_MS)
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_BODY_BYTES)
        throw new HookonceError('REQUEST_TOO_LARGE', `the body has more than ${MAX_BODY_BYTES} bytes`)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof HookonceError) throw error
    throw new HookonceError('REQUEST_INVALID', 'the body did not arrive', { cause: error })
  } finally {
    clearTimeout(timer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/*
 * JSON.stringify writes NUL characters and unpaired surrogates as escapes. A backslash is doubled.
 */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/** PostgreSQL stores neither NUL characters nor unpaired surrogates. `at` names the value. */
export function parseStorable(text: string, at: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new HookonceError('REQUEST_INVALID', `${at} is not JSON`)
  }
  if (UNSTORABLE.test(JSON.stringify(value)))
    throw new HookonceError('REQUEST_INVALID', `${at} contains a NUL or an unpaired surrogate`)
  return value
}
