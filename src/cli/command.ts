import { parseArgs } from 'node:util'
import { didYouMean } from '../input/closest.ts'
import { HookonceError } from '../model/errors.ts'

/** One command of the command line. Each has its own file, and `commands.ts` lists them. */
export interface Command {
  readonly usage: string
  /** The exit code after an error; 1 by default. */
  readonly failureCode?: number
  run(args: readonly string[]): Promise<void>
}

type ArgOptions = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>

type Parsed<Options extends ArgOptions> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true; strict: true }>
>

/** Options of every command that reads or changes the ledger. */
export const ledgerOptions = {
  dir: { type: 'string', default: '.hookonce' },
  json: { type: 'boolean', default: false },
} as const

interface Syntax extends Pick<Command, 'usage'> {
  /** The number of arguments besides options; 0 by default. */
  readonly words?: number
}

/** Parses the arguments of a command. Unknown options and unexpected arguments are usage errors. */
export function parse<const Options extends ArgOptions>(
  { words = 0, ...command }: Syntax,
  args: readonly string[],
  options: Options,
): Parsed<Options> {
  const parsed = parsedArgs(command, args, options)
  const surplus = parsed.positionals[words]
  if (surplus !== undefined) throw usageError(command, `unexpected argument "${surplus}"`)
  return parsed
}

function parsedArgs<const Options extends ArgOptions>(
  command: Pick<Command, 'usage'>,
  args: readonly string[],
  options: Options,
): Parsed<Options> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (error) {
    // Removes Node's advice on positional arguments, which rarely applies.
    const message = error instanceof Error ? error.message : String(error)
    const [, unknown] = /^Unknown option '([^']*)'/.exec(message) ?? []
    if (unknown === undefined) throw usageError(command, message)
    const known = Object.keys(options).map((name) => `--${name}`)
    throw usageError(command, `unknown option ${unknown}${didYouMean(unknown, known)}`)
  }
}

export function usageError(command: Pick<Command, 'usage'>, fault: string): HookonceError {
  return new HookonceError('CONFIG_INVALID', `${fault}\n\n${command.usage}`)
}

export function parsePort(command: Pick<Command, 'usage'>, text: string, option = '--port'): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw usageError(command, `${option} must be a number from 0 to 65535, not "${text}"`)
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `90s`, `15m`, `2h`, `7d` in milliseconds. */
export function parseDuration(command: Pick<Command, 'usage'>, text: string): number {
  const match = /^(\d+)([smhd])$/.exec(text)
  const unit = match?.[2] as keyof typeof UNITS_MS | undefined
  if (!match || !unit) throw usageError(command, `a duration is written as 90s, 15m, 2h or 7d, not "${text}"`)
  return Number(match[1]) * UNITS_MS[unit]
}

const MAX_LIMIT = 10_000

export function parseLimit(command: Pick<Command, 'usage'>, text: string): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw usageError(command, `--limit must be a number from 1 to ${MAX_LIMIT}, not "${text}"`)
}

/** A time, as `2026-01-31T12:00:00Z`, or how long ago, as `2h`. */
export function parseTime(command: Pick<Command, 'usage'>, text: string, nowMs = Date.now()): Date {
  if (/^\d+[smhd]$/.test(text)) return new Date(nowMs - parseDuration(command, text))
  const time = new Date(text)
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(time.getTime())) return time
  throw usageError(command, `a time is written as 2h (ago) or 2026-01-31T12:00:00Z, not "${text}"`)
}
