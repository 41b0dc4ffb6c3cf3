// Compares a documented output with a real output. The parts that may differ from run to run are
// listed only here.
const PLACEHOLDERS = [
  // A shortened hash.
  [/[0-9a-f]{4}…[0-9a-f]{4}/, '[0-9a-f]+'],
  // A placeholder of the author: any text within a line.
  [/…/, '.*'],
  // Times and dates.
  [/\d{4}-\d\d-\d\d/, '\\d{4}-\\d\\d-\\d\\d'],
  [/\d\d:\d\d:\d\d/, '\\d\\d:\\d\\d:\\d\\d'],
  // The port of the embedded PostgreSQL. The other ports are documented.
  [/(?<=postgres:\/\/hookonce@127\.0\.0\.1:)\d+/, '\\d+'],
  // Random ids of receipts, events and objects.
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/, '[0-9a-f-]{36}'],
  [/\b(?:evt|in)_[0-9a-f]{8,}/, '(?:evt|in)_\\w+'],
  // The prover chooses its order at random, and prints measured times.
  [/seed \d+/, 'seed \\d+'],
  [/, \d+ s$/, ', \\d+ s'],
  // Columns are as wide as their longest value.
  [/ {2,}/, ' {2,}'],
]

/** A line that is only `…` stands for any number of lines. */
const ANY_LINES = '[^]*'
const ANY = new RegExp(PLACEHOLDERS.map(([documented]) => documented.source).join('|'), 'gm')

/** A pattern that matches the documented text anywhere in an output. */
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

/** Whether this pattern matches the whole found text at its place. */
function isWhole(documented, line, { index, 0: found }) {
  const sticky = new RegExp(documented.source, 'my')
  sticky.lastIndex = index
  return sticky.exec(line)?.[0] === found
}

function escaped(text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
