import type { CommandSyntax, OptionSyntax, ValueKind } from './syntax.ts'

/** Works as the file _hookonce in a folder of $fpath, or sourced after compinit. */
export function zshScript(commands: readonly CommandSyntax[], providers: readonly string[]): string {
  return `#compdef hookonce
# Completion of hookonce for zsh: hookonce completion zsh > a folder of $fpath/_hookonce
_hookonce_sources() { compadd -- \${(f)"$($words[1] completion sources 2>/dev/null)"} }
_hookonce_providers() { compadd -- ${providers.join(' ')} }
_hookonce() {
  local -a commands verbs options
  commands=(
${commands.map(({ name, summary }) => `    ${described(name, summary)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    return
  fi
  local prev=$words[CURRENT-1]
  case $words[2] in
    help) _describe -t commands command commands; return ;;
${commands.map(caseOf).join('\n')}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe -o -t options option options
  elif (( CURRENT == 3 && $#verbs )); then
    compadd -- $verbs
  fi
}
if [[ $funcstack[1] == _hookonce ]]; then _hookonce "$@"; else compdef _hookonce hookonce; fi
`
}

/** A word and its meaning, in the format of `_describe`. */
function described(word: string, meaning: string): string {
  const text = meaning === '' ? word : `${word}:${meaning}`
  return `'${text.replaceAll("'", "'\\''")}'`
}

function caseOf({ name, verbs, argument, options }: CommandSyntax): string {
  return `    ${name})
      case $prev in
${valueCases(options).join('\n')}
      esac
      verbs=(${verbs.join(' ')})
      options=(${options.map((option) => described(option.name, option.meaning)).join(' ')})
${argumentLine(argument)}      ;;`
}

function argumentLine(argument: ValueKind): string {
  if (argument !== 'source' && argument !== 'provider') return ''
  return `      [[ $words[CURRENT] == -* ]] || _hookonce_${argument}s\n`
}

function valueCases(options: readonly OptionSyntax[]): string[] {
  return options.flatMap(({ name, value }) =>
    value === undefined ? [] : [`        ${name}) ${offer(value)}; return ;;`],
  )
}

function offer({ kind, words }: NonNullable<OptionSyntax['value']>): string {
  if (words.length > 0) return `compadd -- ${words.join(' ')}`
  switch (kind) {
    case 'file':
      return '_files'
    case 'folder':
      return '_files -/'
    case 'source':
      return '_hookonce_sources'
    case 'provider':
      return '_hookonce_providers'
    case 'text':
      return ':'
  }
}
