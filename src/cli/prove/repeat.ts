import { withoutPassword } from '../print.ts'

/** The command line that repeats one schedule: the same arguments, this seed, and `--only`. */
export function repeatCommand(
  args: readonly string[],
  { seed, only }: { readonly seed: number; readonly only: string },
): string {
  const kept: string[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    // Options that are followed by a value, unless written as --name=value.
    if (/^--(seed|only|report|junit)$/.test(arg)) index += 1
    else if (!/^--(seed|only|report|junit)=/.test(arg) && arg !== '--json') kept.push(shown(arg))
  }
  return ['npx hookonce prove', ...kept.map(quoted), `--seed ${seed}`, `--only ${quoted(only)}`].join(' ')
}

/** Reports are shared, so they hold no password. */
function shown(arg: string): string {
  const [, name = '', url = ''] = /^(--database=)?(postgres(?:ql)?:\/\/.*)$/.exec(arg) ?? []
  return url === '' ? arg : `${name}${withoutPassword(url)}`
}

/** Quotes an argument for a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
