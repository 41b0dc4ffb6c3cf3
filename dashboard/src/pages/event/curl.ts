/** A request as a command line for the shell. */

/** Headers that belong to one connection or that curl computes. */
const LEFT_OUT = new Set([
  'host',
  'content-length',
  'connection',
  'accept-encoding',
  'transfer-encoding',
  'expect',
  'user-agent',
])

export interface StoredRequest {
  readonly url: string
  /** The headers, as lines of `name: value`. */
  readonly headers: string
  /** Undefined: the body is not text, so curl reads it from this file. */
  readonly body: string | undefined
  readonly file: string
}

export function curlOf({ url, headers, body, file }: StoredRequest): string {
  const kept = headers.split('\n').filter((line) => {
    const name = line.split(':', 1)[0]?.trim().toLowerCase() ?? ''
    return name !== '' && !LEFT_OUT.has(name)
  })
  const data = body === undefined ? `@${file}` : body
  const parts = [...kept.map((line) => `-H ${quoted(line)}`), `--data-binary ${quoted(data)}`]
  // curl would read a body that begins with @ as the name of a file.
  const flag = body?.startsWith('@')
    ? parts.map((part) => part.replace('--data-binary ', '--data-raw '))
    : parts
  return [`curl ${quoted(url)}`, ...flag].join(' \\\n  ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
