import { HookonceError } from '../model/errors.ts'

const CONTROL = /^(begin|start\s+transaction|commit|end|abort|rollback|prepare\s+transaction)\b/i
/** The handler may roll back to a savepoint in its own transaction. */
const TO_SAVEPOINT = /^rollback\s+(work\s+|transaction\s+)?to\b/i
const SAVEPOINT = /^(savepoint|release)\b/i
/**
 * Statements whose effect on the session outlives them. NOTIFY is not listed: it is sent with the
 * commit.
 */
const OF_SESSION = /^(set|reset|discard|deallocate|prepare|listen|unlisten|declare|fetch|move|close|load)\b/i
const SESSION_CALL = /\b(set_config|pg_(?:try_)?advisory_(?:un)?lock(?:_shared|_all)?)\s*\(/i
const COPY = /^(copy)\b.*\b(from\s+stdin|to\s+stdout)\b/is

/**
 * Only the engine may end the transaction: it commits the writes, the record and the fence
 * together.
 */
export function refuseControl(text: string): void {
  const said = withoutLeadIn(text)
  const [, word] = CONTROL.exec(said) ?? []
  if (word === undefined || TO_SAVEPOINT.test(said)) return
  throw new HookonceError(
    'TRANSACTION_MISUSED',
    `"${word}" inside a transaction: it is committed when its function returns, and rolled back when it throws`,
  )
}

/**
 * Makes the server accept exactly one statement, because a second one could end the transaction.
 * Without values, pg would send a text that may hold several statements.
 */
export function asOneStatement<Query extends { readonly text: string }>(query: Query): Query {
  // SQL tag functions create objects whose text is a getter of their class.
  return { ...query, text: query.text, queryMode: 'extended' }
}

/** Translates the server's error for several statements in one query. */
export function refuseSeveral(error: unknown): never {
  const { code, routine } = error as { code?: unknown; routine?: unknown }
  // Other syntax errors come from other parts of the server.
  if (code !== '42601' || routine !== 'exec_parse_message') throw error
  throw new HookonceError(
    'TRANSACTION_MISUSED',
    'several statements in one query inside a transaction: send them one by one',
    { cause: error },
  )
}

/**
 * Writes share their transaction with those of other jobs, so they may change neither a savepoint
 * nor the session. This reports mistakes early. Changes by a function or a trigger are undone
 * before the next job's writes: see ledger/driver/sessions.ts.
 */
export function refuseInWrite(text: string): void {
  const said = withoutLeadIn(text)
  const [, word] = CONTROL.exec(said) ?? SAVEPOINT.exec(said) ?? []
  if (word !== undefined) {
    throw new HookonceError(
      'TRANSACTION_MISUSED',
      `"${word}" in ctx.write(): it is committed together with the writes of other jobs`,
    )
  }
  const [, session] = OF_SESSION.exec(said) ?? sessionCall(said) ?? []
  if (session !== undefined) {
    throw new HookonceError(
      'TRANSACTION_MISUSED',
      `"${session}" in ctx.write(): its session is shared with other jobs; use ctx.transaction(), which has its own until it ends`,
    )
  }
  const [, copy, where] = COPY.exec(said) ?? []
  if (copy === undefined) return
  const fault = `ctx.write(): "copy … ${where}" needs a stream, which ctx.write() does not support; use insert`
  throw new HookonceError('CONFIG_INVALID', fault)
}

/** Comments and strings. A dollar-quoted string is code if a DO precedes it. */
const NOT_CODE = /'(?:[^']|'')*'|--[^\n\r]*|\/\*[\s\S]*?\*\//g
const DOLLAR_TEXT = /\$(\w*)\$[\s\S]*?\$\1\$/g

function sessionCall(said: string): RegExpExecArray | undefined {
  // Few statements have a string or comment, so only those are examined further.
  if (!SESSION_CALL.test(said)) return undefined
  const code = said.replace(NOT_CODE, ' ')
  return SESSION_CALL.exec(/^do\b/i.test(said) ? code : code.replace(DOLLAR_TEXT, ' ')) ?? undefined
}

const SPACE = /^[\s;]+/
const LINE_COMMENT = /^--[^\n\r]*/

/** The statement without leading spaces, empty statements and comments. */
function withoutLeadIn(text: string): string {
  let rest = text
  for (;;) {
    const skipped = blockComment(rest) || (LINE_COMMENT.exec(rest) ?? SPACE.exec(rest) ?? [''])[0].length
    if (skipped === 0) return rest
    rest = rest.slice(skipped)
  }
}

/** The length of the comment at the start of the text. PostgreSQL nests comments. */
function blockComment(text: string): number {
  if (!text.startsWith('/*')) return 0
  let depth = 0
  for (const { 0: mark, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1
    if (depth === 0) return index + mark.length
  }
  return text.length
}
