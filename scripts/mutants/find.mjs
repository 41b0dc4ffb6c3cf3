// Finds the guards in the SQL of the ledger: fences, row locks, conditions on a state, durability.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/*
 * Each rule matches one guard in a piece of SQL and returns the text without it. A comparison with
 * a parameter keeps the parameter: PostgreSQL rejects a statement that does not use all of them,
 * and every test would then kill the mutant.
 */
const RULES = [
  {
    name: 'row lock',
    pattern: /\s+for (?:no key )?update(?: of \w+)?(?: skip locked)?/g,
    without: () => '',
  },
  {
    name: 'fence compared',
    pattern: /\b(where|and|on|or)(\s+)((?:\w+\.)?fence = (\$\d+::\w+|[\w.]+))/g,
    without: ([, word, space, , value]) => `${word}${space}${always(value)}`,
  },
  {
    name: 'fence raised',
    pattern: /\bfence = (?:(\w+\.fence) \+ 1|nextval\('[^']+'\))/g,
    without: ([, old]) => `fence = ${old ?? '1'}`,
  },
  {
    name: 'state compared',
    pattern:
      /\b(where|and|on|or|when)(\s+)((?:\w+\.)?state (?:=|in) ('[^']*'|\([^()]*\)|any\(\$\d+::[\w.]+\[\]\)|\$\d+::[\w.]+))/g,
    without: ([, word, space, , value]) => `${word}${space}${always(value)}`,
  },
  {
    name: 'state set',
    pattern: /\bset state = (?:'[^']*'|\(case (?:(?!\bend\)).)*\bend\)::[\w.]+),\s*/gs,
    without: () => 'set ',
  },
  {
    // A commit with `off` is fast, not safe: its removal costs only time.
    name: 'durability',
    pattern: /\bsynchronous_commit\b(?!', 'off')/g,
    without: () => 'hookonce.mutant',
  },
]

function always(value) {
  const parameter = /\$\d+::[\w.]+(?:\[\])?/.exec(value)?.[0]
  return parameter === undefined ? 'true' : `(${parameter} is not null or true)`
}

/** Every mutant of the TypeScript files below `folder`. */
export function findMutants(root, folder) {
  return sourceFiles(join(root, folder)).flatMap((path) => {
    const text = readFileSync(path, 'utf8')
    const file = relative(root, path)
    return [
      ...sqlPieces(text).flatMap((piece) => mutantsOf({ file, text, piece })),
      ...undurable({ file, text }),
      ...stateless({ file, text }),
    ]
  })
}

/**
 * Durability is inserted into a statement from sql/durable.ts. The mutant omits it in this
 * statement.
 */
function undurable({ file, text }) {
  const durable = /(?<=([^`}]*))\$\{((?:WITH_)?DURABLE(?:_SESSION)?)\}([^`$]*)/g
  return [...text.matchAll(durable)].map((match) => {
    const [piece, before, name, after] = match
    const nothing =
      name === 'WITH_DURABLE' ? 'durable as materialized (select null as synchronous_commit)' : 'null'
    const line = text.slice(0, match.index).split('\n').length
    const removed = `\${${name}}`
    const nth = occurrences(text.slice(0, match.index), piece)
    const mutated = `${nothing}${after}`
    return { file, line, rule: 'durability', removed, piece, nth, sent: longer(before, after), mutated }
  })
}

/** Lists of states are inserted into a statement from jobs/states.ts. */
function stateless({ file, text }) {
  const compared = /([^`}]*\b(?:where|and|on|or|when)\s+)((?:\w+\.)?state in \$\{\w+\})(?=([^`$]*))/g
  return [...text.matchAll(compared)].map((match) => {
    const [piece, before, removed, after] = match
    const line = text.slice(0, match.index + before.length).split('\n').length
    const mutated = `${before}true`
    const nth = occurrences(text.slice(0, match.index), piece)
    return { file, line, rule: 'state compared', removed, piece, nth, sent: longer(before, after), mutated }
  })
}

function mutantsOf({ file, text, piece }) {
  return RULES.flatMap((rule) =>
    [...piece.text.matchAll(rule.pattern)].map((match) => {
      const start = match.index
      const mutated =
        piece.text.slice(0, start) + rule.without(match) + piece.text.slice(start + match[0].length)
      const line = text.slice(0, piece.start + start + match[0].search(/\S/)).split('\n').length
      return {
        file,
        line,
        rule: rule.name,
        removed: match[0].trim(),
        piece: piece.text,
        nth: occurrences(text.slice(0, piece.start), piece.text),
        // The part of the statement by which the trace of a test run is searched.
        sent: piece.text,
        mutated,
      }
    }),
  )
}

/**
 * Of the literal parts around an inserted expression, the longer one occurs in fewer statements.
 */
function longer(before, after) {
  return before.length > after.length ? before : after
}

/** How often a piece occurs in a text. The built file contains it equally often. */
function occurrences(text, piece) {
  return text.split(piece).length - 1
}

function sourceFiles(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
    .sort()
}

const SQL = /\b(select|insert|update|delete|where|from|set_config|set local|returning|case)\b/

/**
 * The literal parts of template and quoted strings that look like SQL. An inserted expression ends
 * a part.
 */
function sqlPieces(text) {
  const pieces = []
  const nested = []
  let at = 0
  const string = (close) => {
    const start = at
    while (at < text.length && text[at] !== close && !(close === '`' && text.startsWith('${', at)))
      at += text[at] === '\\' ? 2 : 1
    pieces.push({ start, text: text.slice(start, at) })
    if (close === '`' && text.startsWith('${', at)) {
      nested.push(0)
      at += 2
    } else at += 1
  }
  while (at < text.length) {
    const char = text[at]
    if (text.startsWith('//', at)) at = endOf(text, '\n', at)
    else if (text.startsWith('/*', at)) at = endOf(text, '*/', at)
    else if (char === '/' && isRegExp(text, at)) at = endOf(text, '/', at + 1)
    else if (char === "'" || char === '"' || char === '`') {
      at += 1
      string(char)
    } else if (char === '{' && nested.length > 0) {
      nested.push(nested.pop() + 1)
      at += 1
    } else if (char === '}' && nested.length > 0) {
      const depth = nested.pop()
      at += 1
      if (depth === 0) string('`')
      else nested.push(depth - 1)
    } else at += 1
  }
  return pieces.filter((piece) => SQL.test(piece.text))
}

function isRegExp(text, at) {
  return /[(,=:[!&|?]\s*$/.test(text.slice(Math.max(0, at - 20), at))
}

function endOf(text, mark, from) {
  const found = text.indexOf(mark, from)
  return found === -1 ? text.length : found + mark.length
}
