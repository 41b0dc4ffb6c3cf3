/** Compares texts by their code units, as positions of lists are compared. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
