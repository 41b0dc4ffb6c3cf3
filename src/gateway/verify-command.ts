import { shellWord } from '../input/shell-word.ts'

/** Refusals that `hookonce verify` can repeat with a stored delivery. */
const REPEATABLE = /^(SIGNATURE|TIMESTAMP|EVENT)_|^BODY_UNPARSABLE$/

export function isRepeatable(code: string): boolean {
  return REPEATABLE.test(code)
}

/**
 * A command that verifies a delivery stored in two files. `options` lead the command to the source:
 * the file of its configuration, or its registered URL.
 */
export function verifyCommand(source: string, options: Readonly<Record<string, string>>): string {
  return [
    'npx hookonce verify --source',
    shellWord(source),
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, shellWord(value)]),
    '--headers headers.txt --body body.json',
  ].join(' ')
}
