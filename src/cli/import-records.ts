import { StringDecoder } from 'node:string_decoder'
import { HookonceError } from '../model/errors.ts'
import type { ImportedKey } from '../operate/import.ts'

export const formats = ['keys', 'jsonl', 'csv'] as const
export type Format = (typeof formats)[number]

interface RecordOptions {
  readonly format: Format
  /** The names of the fields, in jsonl and csv. */
  readonly fields: { readonly key: string; readonly type: string; readonly time: string }
}

/** The longest record. Without this limit, a file of another kind could fill the memory. */
const MAX_RECORD_CHARS = 1024 * 1024
/** The longest event key of a delivery. */
const MAX_KEY_BYTES = 1024

/** Reads the keys of an input. Empty lines are skipped; a line that cannot be read is an error. */
export async function* importRecords(
  input: AsyncIterable<Buffer>,
  { format, fields }: RecordOptions,
): AsyncGenerator<ImportedKey> {
  let names: readonly string[] | undefined
  for await (const { text, line } of textRecords(input, { quoted: format === 'csv' })) {
    if (text.trim() === '') continue
    if (format === 'keys') {
      yield { key: checkedKey(text.trim(), line) }
      continue
    }
    if (format === 'csv' && names === undefined) {
      names = cellsOf(text, line)
      if (!names.includes(fields.key))
        throw fault(
          line,
          `no column is named "${fields.key}": there are ${names.join(', ')}. Name it with --key`,
        )
      continue
    }
    const record = names ? csvRecord(names, cellsOf(text, line)) : jsonRecord(text, line)
    const time = textOf(record[fields.time])
    yield {
      key: checkedKey(textOf(record[fields.key]), line, fields.key),
      type: textOf(record[fields.type]) || undefined,
      occurredAt: time === '' ? undefined : checkedTime(time, line),
    }
  }
}

interface TextRecord {
  readonly text: string
  /** The number of its first line, from 1. */
  readonly line: number
}

/** Cuts the input at line breaks; in CSV, not at those inside quotes. */
async function* textRecords(
  input: AsyncIterable<Buffer>,
  { quoted }: { readonly quoted: boolean },
): AsyncGenerator<TextRecord> {
  const decoder = new StringDecoder('utf8')
  let held = ''
  let line = 1
  let isOpen = false
  let lines = 0
  const cut = (): TextRecord => {
    const record = { text: held.replace(/\r$/, '').replace(/^\ufeff/, ''), line }
    line += lines + 1
    held = ''
    lines = 0
    return record
  }
  for await (const chunk of input) {
    const parts = decoder.write(chunk).split('\n')
    for (const [index, part] of parts.entries()) {
      if (index > 0) {
        if (isOpen) {
          held += '\n'
          lines += 1
        } else yield cut()
      }
      if (quoted && quotesIn(part) % 2 === 1) isOpen = !isOpen
      held += part
      if (held.length > MAX_RECORD_CHARS)
        throw fault(line, `longer than ${MAX_RECORD_CHARS} characters. Check --format`)
    }
  }
  if (isOpen) throw fault(line, 'a quote is never closed')
  if (held !== '') yield cut()
}

function quotesIn(text: string): number {
  return text.split('"').length - 1
}

/** A cell is bare, or quoted with doubled quotes inside. */
const CELL = /"((?:[^"]|"")*)"|([^",]*)/y

function cellsOf(text: string, line: number): string[] {
  const cells: string[] = []
  for (let at = 0; ; at += 1) {
    CELL.lastIndex = at
    const found = CELL.exec(text)
    cells.push(found?.[1]?.replaceAll('""', '"') ?? found?.[2] ?? '')
    at = CELL.lastIndex
    if (at >= text.length) return cells
    if (text[at] !== ',') throw fault(line, 'not a line of CSV: quotes must surround the whole cell')
  }
}

function csvRecord(names: readonly string[], cells: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(names.map((name, index) => [name, cells[index]]))
}

function jsonRecord(text: string, line: number): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>
  } catch {
    // The error below names the line.
  }
  throw fault(line, 'not a JSON object')
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function checkedKey(key: string, line: number, field?: string): string {
  if (key === '')
    throw fault(
      line,
      `has no event key${field === undefined ? '' : ` in "${field}". Name the field with --key`}`,
    )
  if (Buffer.byteLength(key) > MAX_KEY_BYTES)
    throw fault(line, `the key is longer than ${MAX_KEY_BYTES} bytes`)
  if (key.includes('\0')) throw fault(line, 'the key holds a NUL')
  return key
}

function checkedTime(text: string, line: number): Date {
  const time = new Date(text)
  if (!Number.isNaN(time.getTime())) return time
  throw fault(line, `"${text.slice(0, 40)}" is no time: write 2026-01-31T12:00:00Z`)
}

function fault(line: number, says: string): HookonceError {
  return new HookonceError('CONFIG_INVALID', `line ${line}: ${says}`)
}
