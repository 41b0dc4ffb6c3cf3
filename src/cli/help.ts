import { type CommandEntry, commands } from './commands.ts'
import { examples } from './examples.ts'
import { exitCodes } from './exit-codes.ts'
import { table } from './print.ts'
import type { Style } from './style.ts'

/** The help text of the program. */
export function programHelp(style: Style): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 2
  return [
    'hookonce makes every webhook take effect once.',
    '',
    ...commands.map(({ name, summary }) => `  ${style.bold(name.padEnd(width))}${summary}`),
    '',
    'hookonce help <command> explains a command; hookonce --version prints the version.',
    '',
    'Exit codes:',
    ...Object.entries(exitCodes).map(([code, meaning]) => `  ${code.padEnd(5)}${meaning}`),
  ].join('\n')
}

/** The usage of a command with its examples. */
export function commandHelp({ name }: Pick<CommandEntry, 'name'>, usage: string, style: Style): string {
  const given = examples[name] ?? []
  if (given.length === 0) return usage
  const lines = table(
    ['', ''],
    given.map(([line, meaning]) => [`  ${line}`, `  ${meaning}`]),
  )
  // Drops the empty header row of the table.
  return `${usage}\n\n${style.bold('Examples:')}\n${lines.slice(1)}`
}
