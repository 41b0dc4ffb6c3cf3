import { stripVTControlCharacters } from 'node:util'

/** A block of lines. Rows may be left out, from the last. */
export interface Section {
  readonly head?: readonly string[]
  readonly rows?: readonly string[]
  readonly foot?: readonly string[]
}

export interface Screen {
  readonly rows: number
  readonly columns: number
}

interface Part {
  readonly section: Section
  /** The number of rows that are shown. */
  readonly count: number
}

/** Without a terminal, the output is as long as a large screen, and nothing wraps. */
const NO_TERMINAL: Screen = { rows: 50, columns: Number.POSITIVE_INFINITY }

/** The size of a terminal. It is 0 in a pseudo-terminal without a size. */
export function screenOf(output: { readonly rows?: number; readonly columns?: number }): Screen {
  return { rows: output.rows || NO_TERMINAL.rows, columns: output.columns || NO_TERMINAL.columns }
}

/**
 * The sections with empty lines between them, on one screen. The section with the most lines of
 * rows loses its last row until everything fits. Each section keeps one row, and counts the rows
 * that are left out.
 */
export function fitScreen(sections: readonly Section[], screen: Screen): string {
  let parts = sections
    .map((section) => ({ section, count: Math.min(section.rows?.length ?? 0, screen.rows) }))
    .filter((part) => linesOf(part).length > 0)
  // The last line of the screen is for the prompt of the shell.
  while (heightOf(blockOf(parts), screen) >= screen.rows) {
    const largest = largestOf(parts, screen)
    if (largest === undefined) break
    parts = parts.map((part) => (part === largest ? { ...part, count: part.count - 1 } : part))
  }
  return blockOf(parts).join('\n')
}

function blockOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part, index) => (index === 0 ? linesOf(part) : ['', ...linesOf(part)]))
}

function linesOf({ section, count }: Part): string[] {
  const { head = [], rows = [], foot = [] } = section
  const left = rows.length - count
  const more = left > 0 ? [`… and ${left} more: --json lists all`] : []
  return [...head, ...rows.slice(0, count), ...more, ...foot]
}

function largestOf(parts: readonly Part[], screen: Screen): Part | undefined {
  const heights = parts
    .filter(({ count }) => count > 1)
    .map((part) => ({ part, height: heightOf(part.section.rows?.slice(0, part.count) ?? [], screen) }))
  return heights.toSorted((a, b) => b.height - a.height)[0]?.part
}

/** Long lines wrap. */
function heightOf(lines: readonly string[], { columns }: Screen): number {
  const height = (line: string): number =>
    Math.max(1, Math.ceil(stripVTControlCharacters(line).length / columns))
  return lines.reduce((sum, line) => sum + height(line), 0)
}
