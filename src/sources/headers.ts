import type { IncomingHttpHeaders } from 'node:http'
import type { Source } from './contract.ts'

/*
 * Headers are kept as lines of `name: value`, as they came: one column of text costs a fraction of
 * JSON, on the way in and in the ledger. A header's value cannot hold a line break.
 */

/**
 * Never recorded: they concern the connection, or belong to whoever sent them and not to the event.
 */
const NOT_RECORDED = new Set([
  'authorization',
  'connection',
  'cookie',
  'expect',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Looks up what node:http has parsed; own properties only, as a delivery may ask for `constructor`.
 */
export function headerIn(headers: IncomingHttpHeaders): (name: string) => string | undefined {
  return (name) => {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined
    return Array.isArray(value) ? value.join(', ') : value
  }
}

type Withholding = Pick<Source, 'withholds'>

/**
 * `pairs` alternates names and values, as `rawHeaders` of node:http does. What holds the secret is
 * left out.
 */
export function headerLines(pairs: readonly string[], source: Withholding): string {
  const { withholds } = source
  let lines = ''
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const name = pairs[at] ?? ''
    if (!isRecorded(name) || withholds?.(name, pairs[at + 1] ?? '')) continue
    lines += `${name}: ${pairs[at + 1]}\n`
  }
  return lines
}

/** Recorded lines without those that hold the secret: earlier versions recorded them. */
export function withoutSecrets(lines: string, { withholds }: Withholding): string {
  if (withholds === undefined) return lines
  return headerEntries(lines)
    .filter(([name, value]) => !withholds(name, value))
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')
}

// Looked at first: most headers have a length that none of these has.
const LENGTHS = new Set([...NOT_RECORDED].map((name) => name.length))

function isRecorded(name: string): boolean {
  return !LENGTHS.has(name.length) || !NOT_RECORDED.has(name.toLowerCase())
}

/** Repeated headers are joined by `, `, as a Delivery asks for. */
export function headerRecord(lines: string): Record<string, string> {
  const record: Record<string, string> = Object.create(null)
  for (const [name, value] of headerEntries(lines)) {
    const key = name.toLowerCase()
    record[key] = key in record ? `${record[key]}, ${value}` : value
  }
  return record
}

function headerEntries(lines: string): [name: string, value: string][] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon), line.slice(colon + 2)]
    })
}

export function headerLookup(lines: string): (name: string) => string | undefined {
  let record: Record<string, string> | undefined
  return (name) => {
    record ??= headerRecord(lines)
    return record[name]
  }
}
