import { withoutPassword } from '../print.ts'

/** The command line that repeats one schedule: the same arguments, this seed, `--only` it. */
export function repeatCommand(
  args: readonly string[],
  { seed, only }: { readonly seed: number; readonly only: string },
): string {
  const kept: string[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    // Each of these is followed by its value, unless it holds it.
    if (/^--(seed|only|report|junit)$/.test(arg)) index += 1
    else if (!/^--(seed|only|report|junit)=/.test(arg) && arg !== '--json') kept.push(shown(arg))
  }
  return ['npx hookonce prove', ...kept.map(quoted), `--seed ${seed}`, `--only ${quoted(only)}`].join(' ')
}

/** A report is shared, so it holds no password. */
function shown(arg: string): string {
  const [, name = '', url = ''] = /^(--database=)?(postgres(?:ql)?:\/\/.*)$/.exec(arg) ?? []
  return url === '' ? arg : `${name}${withoutPassword(url)}`
}

/** As a shell reads it. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
