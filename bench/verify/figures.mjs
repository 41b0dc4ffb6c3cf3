// @ts-check

/** @param {readonly number[]} values */
export function medianOf(values) {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[sorted.length >> 1] ?? Number.NaN
}

/**
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
export function table(head, rows) {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => (row[at] ?? '').length)))
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
