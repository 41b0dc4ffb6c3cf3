// Finds the guards in the SQL of the ledger: row locks, fences, states, durability.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** A comparison follows one of these, or begins a constant. */
const CONDITION = String.raw`(?<=^|\b(?:where|and|on|or|when|select)\s+|\()`

/** An assignment follows one of these, or begins a constant. */
const ASSIGNED = String.raw`(?<=^|\bset\s+|,\s*)`

const PARAMETER = String.raw`\$\d+::[\w.]+`

/** Inserted into a template: a constant or an argument. */
const INSERTED = String.raw`\$\{\w+\}`

const ALIAS = String.raw`(?:(?:\w+|${INSERTED})\.)?`

const CASE = String.raw`case (?:(?!\bend\b)[^\0])*\bend`

const STATES = String.raw`'[^']*'|\([^()]*\)|any\(${PARAMETER}\[\]\)|${PARAMETER}|${INSERTED}`

/*
 * Each rule matches one guard in a piece of SQL and returns what replaces it. A mutant must still
 * be a valid statement. PostgreSQL also rejects a statement that does not use all of its parameters,
 * and every test would then kill the mutant: so a parameter stays, where it has no effect.
 */
const RULES = [
  {
    name: 'row lock',
    pattern: /\s+for (?:no key update|update|key share|share)(?: of \w+)?(?: skip locked)?/g,
    instead: () => '',
  },
  {
    name: 'fence compared',
    pattern: new RegExp(`${CONDITION}${ALIAS}fence [=>] (${PARAMETER}|[\\w.]+\\b(?!\\())`, 'g'),
    instead: ([, value]) => always(value),
  },
  {
    name: 'fence set',
    pattern: new RegExp(
      `${ASSIGNED}fence = (?:((?:\\w+\\.)?fence) \\+ 1|(nextval\\('[^']+'\\)|${PARAMETER}|${INSERTED})|${CASE})`,
      'g',
    ),
    instead: ([, old = 'fence', drawn]) => `fence = ${old}${drawn === undefined ? '' : ` + 0 * ${drawn}`}`,
  },
  {
    name: 'state compared',
    pattern: new RegExp(`${CONDITION}${ALIAS}state(?:::text)? (?:=|<>|in) (${STATES})`, 'g'),
    instead: ([, value]) => always(value),
  },
  {
    name: 'state set',
    pattern: new RegExp(
      `${ASSIGNED}state = (?:(${PARAMETER})|'[^']*'|\\w+\\.\\w+|${CASE}|\\(${CASE}\\)::[\\w.]+),\\s*`,
      'g',
    ),
    instead: ([, parameter]) => (parameter === undefined ? '' : `state = coalesce(state, ${parameter}), `),
  },
  {
    // A commit with `off` is fast, not safe: its removal costs only time.
    name: 'durability',
    pattern: /(?<!current_setting\(')\bsynchronous_commit\b(?!', 'off')/g,
    instead: () => 'hookonce.mutant',
  },
  {
    // Any name may be set, but only a known one may be read.
    name: 'durability',
    pattern: /current_setting\('synchronous_commit'\)/g,
    instead: () => `'on'`,
  },
  {
    // From sql/durable.ts.
    name: 'durability',
    pattern: /\$\{(WITH_)?DURABLE(?:_SESSION)?\}/g,
    instead: ([, isQuery]) =>
      isQuery ? 'durable as materialized (select null as synchronous_commit)' : 'null',
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
    return mutantsIn({ file: relative(root, path), text })
  })
}

function sourceFiles(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
    .sort()
}

/** Every mutant of one file. */
export function mutantsIn({ file, text }) {
  return literalsIn(text).flatMap((literal) =>
    RULES.flatMap((rule) =>
      [...literal.text.matchAll(rule.pattern)].map((match) => mutantOf({ file, text, literal, rule, match })),
    ),
  )
}

function mutantOf({ file, text, literal, rule, match }) {
  const start = match.index
  const end = start + match[0].length
  const from = Math.max(...['}', HIDDEN].map((mark) => literal.text.lastIndexOf(mark, start - 1))) + 1
  const length = literal.text.slice(end).search(/\$\{|\0|$/)
  const before = literal.text.slice(from, start)
  const after = literal.text.slice(end, end + length)
  const piece = before + match[0] + after
  const inFile = literal.start + start
  return {
    file,
    line: text.slice(0, inFile + Math.max(0, match[0].search(/\S/))).split('\n').length,
    rule: rule.name,
    removed: match[0].trim(),
    piece,
    nth: occurrences(text.slice(0, literal.start + from), piece),
    // The part of the statement by which the trace of a test run is searched.
    sent: longestOf(literal.text.split(/\$\{\w+\}|\0+/)),
    mutated: before + rule.instead(match) + after,
  }
}

function longestOf(texts) {
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest), '')
}

/** How often a piece occurs in a text. The built file contains it equally often. */
function occurrences(text, piece) {
  return text.split(piece).length - 1
}

/** In the text of a template, instead of an inserted expression that is not a name. */
const HIDDEN = '\0'

/** The template and quoted strings of a source, also those in the expressions of a template. */
function literalsIn(text) {
  const literals = []
  let at = 0

  function code(close) {
    while (at < text.length && text[at] !== close) {
      const char = text[at]
      if (text.startsWith('//', at)) at = endOf(text, '\n', at)
      else if (text.startsWith('/*', at)) at = endOf(text, '*/', at)
      else if (char === '/' && isRegExp(text, at)) at = endOf(text, '/', at + 1)
      else if (char === "'" || char === '"' || char === '`') string(char)
      else if (char === '{') {
        at += 1
        code('}')
      } else at += 1
    }
    at += 1
  }

  function string(close) {
    at += 1
    const start = at
    let content = ''
    while (at < text.length && text[at] !== close) {
      const from = at
      const isExpression = close === '`' && text.startsWith('${', at)
      at += isExpression || text[at] === '\\' ? 2 : 1
      if (isExpression) code('}')
      const part = text.slice(from, at)
      content += isExpression && !/^\$\{\w+\}$/.test(part) ? HIDDEN.repeat(part.length) : part
    }
    literals.push({ start, text: content })
    at += 1
  }

  code(undefined)
  return literals
}

function isRegExp(text, at) {
  return /[(,=:[!&|?]\s*$/.test(text.slice(Math.max(0, at - 20), at))
}

function endOf(text, mark, from) {
  const found = text.indexOf(mark, from)
  return found === -1 ? text.length : found + mark.length
}
