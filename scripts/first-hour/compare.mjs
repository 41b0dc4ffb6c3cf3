// Compares a documented output with a real one. What differs from run to run is defined here, and
// only here.
const PLACEHOLDERS = [
  // A shortened hash.
  [/[0-9a-f]{4}…[0-9a-f]{4}/, '[0-9a-f]+'],
  // Written by the author of the page: anything, within a line.
  [/…/, '.*'],
  // Times and dates.
  [/\d{4}-\d\d-\d\d/, '\\d{4}-\\d\\d-\\d\\d'],
  [/\d\d:\d\d:\d\d/, '\\d\\d:\\d\\d:\\d\\d'],
  // The port of the embedded PostgreSQL. The other ports are those of the page.
  [/(?<=postgres:\/\/hookonce@127\.0\.0\.1:)\d+/, '\\d+'],
  // Ids that are made at random: of receipts, events and objects.
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/, '[0-9a-f-]{36}'],
  [/\b(?:evt|in)_[0-9a-f]{8,}/, '(?:evt|in)_\\w+'],
  // The prover chooses its order at random, and measures its time.
  [/seed \d+/, 'seed \\d+'],
  [/, \d+ s$/, ', \\d+ s'],
  // Columns are as wide as their longest value.
  [/ {2,}/, ' {2,}'],
]

/** A line that is only `…` stands for any number of lines. */
const ANY_LINES = '[^]*'
const ANY = new RegExp(PLACEHOLDERS.map(([documented]) => documented.source).join('|'), 'gm')

/** A pattern that matches the documented text, wherever it is in an output. */
export function patternOf(documented) {
  const lines = documented.trimEnd().split('\n')
  return new RegExp(`^${lines.map((line) => (line === '…' ? ANY_LINES : lineOf(line))).join('\n')}$`, 'm')
}

function lineOf(line) {
  let pattern = ''
  let end = 0
  for (const match of line.matchAll(ANY)) {
    const [, real] = PLACEHOLDERS.find(([documented]) => isWhole(documented, line, match))
    pattern += escaped(line.slice(end, match.index)) + real
    end = match.index + match[0].length
  }
  return `${pattern}${escaped(line.slice(end))}[ ]*`
}

/** Whether this placeholder is the one that was found there. */
function isWhole(documented, line, { index, 0: found }) {
  const sticky = new RegExp(documented.source, 'my')
  sticky.lastIndex = index
  return sticky.exec(line)?.[0] === found
}

function escaped(text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
