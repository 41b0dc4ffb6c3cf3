/** Compares texts by their code units. Positions in lists are compared in the same way. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
