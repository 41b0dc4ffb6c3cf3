import type { IncomingHttpHeaders } from 'node:http'
import { RECONCILED_HEADER } from '../model/reconciled.ts'
import type { Source } from './contract.ts'
import { MARKER } from './redact/marker.ts'

/*
 * Headers are stored as lines of `name: value`, as received. One text column is much cheaper than
 * JSON, to write and to store. The value of a header cannot contain a line break.
 */

/**
 * Headers that are not recorded: headers of the connection, credentials of the sender, and the mark
 * that only reconciliation may set.
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
  RECONCILED_HEADER,
])

/**
 * Looks up headers parsed by node:http. Own properties only, because the name may be `constructor`.
 */
export function headerIn(headers: IncomingHttpHeaders): (name: string) => string | undefined {
  return (name) => {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined
    return Array.isArray(value) ? value.join(', ') : value
  }
}

type SecretFilter = Pick<Source, 'withholds' | 'redaction'>

/**
 * `pairs` alternates names and values, like `rawHeaders` of node:http. Headers that contain the
 * secret are left out.
 */
export function headerLines(pairs: readonly string[], source: SecretFilter): string {
  const { withholds, redaction } = source
  let lines = ''
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const name = pairs[at] ?? ''
    if (!isRecorded(name) || withholds?.(name, pairs[at + 1] ?? '')) continue
    lines += `${name}: ${redaction?.hidesHeader(name) ? MARKER : pairs[at + 1]}\n`
  }
  return lines
}

/** Removes headers that contain the secret. Earlier versions recorded such headers. */
export function withoutSecrets(lines: string, { withholds }: SecretFilter): string {
  if (withholds === undefined) return lines
  return headerEntries(lines)
    .filter(([name, value]) => !withholds(name, value))
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')
}

// Checked first, because most headers have a length that none of these headers has.
const LENGTHS = new Set([...NOT_RECORDED].map((name) => name.length))

function isRecorded(name: string): boolean {
  return !LENGTHS.has(name.length) || !NOT_RECORDED.has(name.toLowerCase())
}

/** Repeated headers are joined with `, `, as in a Delivery. */
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
