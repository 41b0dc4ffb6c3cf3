/** Longer words are not typos of an option or a command, and are slower to compare. */
const MAX_CHARS = 64

/** The candidate of which `given` is most likely a typo. Undefined if none is close. */
export function closest(given: string, candidates: Iterable<string>): string | undefined {
  const word = given.toLowerCase()
  if (word === '' || word.length > MAX_CHARS) return undefined
  let best: string | undefined
  // One typo in every three characters still leaves a word recognisable.
  let fewest = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of candidates) {
    const typos = typosBetween(word, candidate.toLowerCase())
    if (typos >= fewest) continue
    fewest = typos
    best = candidate
  }
  return best
}

/** ` (did you mean "x"?)`, or nothing if no candidate is close. */
export function didYouMean(given: string, candidates: Iterable<string>): string {
  const meant = closest(given, candidates)
  return meant === undefined ? '' : ` (did you mean "${meant}"?)`
}

/** Shorter words have too many common prefixes. */
const MIN_BEGINNING = 3

function typosBetween(word: string, candidate: string): number {
  if (candidate.length > MAX_CHARS) return Number.POSITIVE_INFINITY
  // A name without its unit: `tolerance` for `toleranceSeconds`.
  if (word.length >= MIN_BEGINNING && candidate.startsWith(word))
    return Math.min(1, candidate.length - word.length)
  return editDistance(word, candidate)
}

/** Inserted, removed, replaced and swapped characters (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1]
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      current[column] = Math.min(
        cell(last, column) + 1,
        cell(current, column - 1) + 1,
        cell(last, column - 1) + (isSame ? 0 : 1),
        isSwapped ? cell(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = current
  }
  return cell(last, b.length)
}

function cell(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
