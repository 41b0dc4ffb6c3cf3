import { stripVTControlCharacters } from 'node:util'

/** One line per row; each column is as wide as its widest cell. Cells may have colours. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => widthOf(row[column] ?? ''))),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => padded(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(head), ...rows.map(line)].join('\n')
}

/** Pads a cell to this width. Colour codes do not count. */
export function padded(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - widthOf(cell)))
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2))
}

/** Local time, to the second. */
export function clock(date: Date): string {
  const pad = (value: number): string => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
}

/**
 * Control characters, and characters that change the direction or the lines of text: text from
 * outside must not control the terminal, nor appear in another order.
 */
const CONTROLS = '\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069'
const UNSAFE = new RegExp(`[\\u0000-\\u001f${CONTROLS}]`, 'g')
const UNSAFE_IN_BLOCK = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f${CONTROLS}]`, 'g')

export function safe(text: string): string {
  return text.replace(UNSAFE, '\uFFFD')
}

/** Like `safe`, but keeps line breaks and tabs. */
export function safeBlock(text: string): string {
  return text.replace(UNSAFE_IN_BLOCK, '\uFFFD')
}

/** A database URL without its password, to be printed. */
export function withoutPassword(url: string): string {
  try {
    const shown = new URL(url)
    shown.password = ''
    for (const name of [...shown.searchParams.keys()])
      if (/password|secret|token/i.test(name)) shown.searchParams.delete(name)
    return shown.toString()
  } catch {
    // The URL cannot be parsed, and may hold a password.
    return 'postgres://…'
  }
}
