/** Describes a thrown value. Any value can be thrown, even an object whose properties throw. */
export function textOfThrown(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `thrown: ${String(thrown)}`
  } catch {
    return 'thrown: a value without a text'
  }
}

const QUOTE = Symbol('quote')

/**
 * Marks the end of an error's message as a quote of another system, which may echo a request. The
 * ledger keeps the whole message. Logs omit the quote.
 */
export function quoting<Thrown extends Error>(error: Thrown, quote: string): Thrown {
  return quote === '' ? error : Object.defineProperty(error, QUOTE, { value: quote })
}

/** Describes a thrown value for logs, without its quotes. */
export function loggedTextOfThrown(thrown: unknown): string {
  const text = textOfThrown(thrown)
  const quote: unknown = thrown instanceof Error ? Reflect.get(thrown, QUOTE) : undefined
  return typeof quote === 'string' && text.endsWith(quote) ? `${text.slice(0, -quote.length)}…` : text
}

/** The number of frames in logs and spans. */
const MOST_FRAMES = 8

/** The frames of an error, innermost first, without its message. */
export function stackOfThrown(thrown: unknown): string[] {
  return framesOf(thrown).slice(0, MOST_FRAMES)
}

/** Enough for deep call stacks; an endless recursion must not fill the ledger. */
const MAX_STACK_CHARS = 8_000
/** A limit, because a cause may be its own cause. */
const MAX_CAUSES = 5
const MAX_CAUSE_CHARS = 500

/**
 * The stack of an error and of its causes, for the ledger. Omits frames of hookonce itself, which
 * do not help to debug a handler. Undefined if no other frame has a place in a file.
 */
export function recordedStackOf(thrown: unknown): string | undefined {
  try {
    const given: unknown = thrown instanceof Error ? Reflect.get(thrown, STACK) : undefined
    if (typeof given === 'string') return given
    const lines = recordedLines(thrown)
    if (!lines.some((line) => PLACED.test(line))) return undefined
    return lines.join('\n').slice(0, MAX_STACK_CHARS)
  } catch {
    // Reading a property of a thrown value may throw.
    return undefined
  }
}

/** A frame with line and column, outside of Node.js. */
const PLACED = /^at (?!.*\bnode:).*:\d+:\d+\)?$/

const STACK = Symbol('stack')

/** Gives an error of this thread the recorded stack of an error in another thread. */
export function withRecordedStack<Thrown extends Error>(error: Thrown, stack: string | undefined): Thrown {
  return stack === undefined ? error : Object.defineProperty(error, STACK, { value: stack })
}

function recordedLines(thrown: unknown): string[] {
  const lines: string[] = []
  let error = thrown
  for (let depth = 0; depth <= MAX_CAUSES && error instanceof Error; depth += 1) {
    if (depth > 0) lines.push(`caused by ${textOfThrown(error).slice(0, MAX_CAUSE_CHARS)}`)
    lines.push(
      ...framesOf(error)
        .filter((frame) => !isOurs(frame))
        .map((frame) => `at ${frame}`),
    )
    error = error.cause
  }
  return lines
}

/** The folder of hookonce. Undefined in a bundle, where our files cannot be distinguished. */
const OUR_FOLDER = /^file:\/\/(.*\/)model\/thrown\.[jt]s$/.exec(import.meta.url)?.[1]

function isOurs(frame: string): boolean {
  return OUR_FOLDER !== undefined && frame.includes(OUR_FOLDER)
}

function framesOf(thrown: unknown): string[] {
  try {
    if (!(thrown instanceof Error) || typeof thrown.stack !== 'string') return []
    const { stack, message } = thrown
    // The message comes first. Its lines may look like frames.
    const end = message === '' ? -1 : stack.indexOf(message)
    const frames = [...stack.slice(end === -1 ? 0 : end + message.length).matchAll(/^\s+at (.+)$/gm)]
    return frames.map(([, frame = '']) => frame).filter((frame) => !frame.includes('node:internal'))
  } catch {
    // Reading a property may throw.
    return []
  }
}
