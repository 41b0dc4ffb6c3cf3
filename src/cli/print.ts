/** One line a row, columns as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(head), ...rows.map(line)].join('\n')
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2))
}

/** Local time to the second, as a log reader wants it. */
export function clock(date: Date): string {
  const pad = (value: number): string => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
}

/**
 * Control characters, and those that change the direction or the lines of the text around them: a
 * terminal must not obey what came from outside, nor show it in another order than it has.
 */
const COMMANDS = '\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069'
const UNSAFE = new RegExp(`[\\u0000-\\u001f${COMMANDS}]`, 'g')
const UNSAFE_IN_BLOCK = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f${COMMANDS}]`, 'g')

export function safe(text: string): string {
  return text.replace(UNSAFE, '\uFFFD')
}

/** Bodies may span lines; all else is shown as replaced. */
export function safeBlock(text: string): string {
  return text.replace(UNSAFE_IN_BLOCK, '\uFFFD')
}

/** A database URL as it may be shown: without its password. */
export function withoutPassword(url: string): string {
  try {
    const shown = new URL(url)
    shown.password = ''
    for (const name of [...shown.searchParams.keys()])
      if (/password|secret|token/i.test(name)) shown.searchParams.delete(name)
    return shown.toString()
  } catch {
    // Whatever it is, it may hold one.
    return 'postgres://…'
  }
}
