import type { CommandSyntax, OptionSyntax } from './syntax.ts'

export function fishScript(commands: readonly CommandSyntax[], providers: readonly string[]): string {
  return `# Completion of hookonce for fish: hookonce completion fish > ~/.config/fish/completions/hookonce.fish
function __hookonce_command -d 'Whether this is the command of the line'
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end
function __hookonce_verb -d 'Whether the next word is the verb of this command'
    set -l words (commandline -opc)
    test (count $words) -eq 2; and test $words[2] = $argv[1]
end
function __hookonce_first
    test (count (commandline -opc)) -eq 1
end
function __hookonce_sources
    hookonce completion sources 2>/dev/null
end
function __hookonce_providers
    string split ' ' ${quoted(providers.join(' '))}
end
complete -c hookonce -f
${commands.map(commandLines).join('\n')}
`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function commandLines({ name, summary, verbs, argument, options }: CommandSyntax): string {
  const isOfCommand = `-n '__hookonce_command ${name}'`
  return [
    `complete -c hookonce -n __hookonce_first -a ${name} -d ${quoted(summary)}`,
    `complete -c hookonce -n '__hookonce_verb help' -a ${name} -d ${quoted(summary)}`,
    ...(verbs.length > 0
      ? [`complete -c hookonce -n '__hookonce_verb ${name}' -a ${quoted(verbs.join(' '))}`]
      : []),
    ...(argument === 'source' || argument === 'provider'
      ? [`complete -c hookonce ${isOfCommand} -a '(__hookonce_${argument}s)'`]
      : []),
    ...options.map((option) => `complete -c hookonce ${isOfCommand} ${optionWords(option)}`),
  ].join('\n')
}

function optionWords({ name, value, meaning }: OptionSyntax): string {
  const long = `-l ${name.slice(2)}`
  const description = meaning === '' ? '' : ` -d ${quoted(meaning)}`
  return `${long}${value === undefined ? '' : ` ${offer(value)}`}${description}`
}

function offer({ kind, words }: NonNullable<OptionSyntax['value']>): string {
  if (words.length > 0) return `-x -a ${quoted(words.join(' '))}`
  switch (kind) {
    case 'file':
      return '-r -F'
    case 'folder':
      return `-x -a '(__fish_complete_directories)'`
    case 'source':
      return `-x -a '(__hookonce_sources)'`
    case 'provider':
      return `-x -a '(__hookonce_providers)'`
    case 'text':
      return '-x'
  }
}
