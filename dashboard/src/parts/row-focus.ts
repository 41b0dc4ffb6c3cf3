/* The focus in tables of a few rows, which keys move from row to row. */

/** The place of the row that has the focus. -1: none has. */
export function focusedRow(rows: readonly HTMLElement[]): number {
  return rows.findIndex((row) => row.contains(document.activeElement))
}

/** Focuses the link or button of a row. A row without one gets the focus itself. */
export function focusRow(rows: readonly HTMLElement[], place: number): void {
  const row = rows[Math.max(0, Math.min(rows.length - 1, place))]
  const inner = row?.querySelector<HTMLElement>('.cover') ?? row?.querySelector<HTMLElement>('a, button')
  const target = inner ?? row
  target?.focus()
}
