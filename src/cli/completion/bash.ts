import type { CommandSyntax, OptionSyntax, ValueKind } from './syntax.ts'

/** Also works with bash 3.2, the version of macOS. */
export function bashScript(commands: readonly CommandSyntax[], providers: readonly string[]): string {
  return `# Completion of hookonce for bash. Load it in ~/.bashrc: source <(hookonce completion bash)
_hookonce() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" words="" IFS=$' \\t\\n'
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=( $(compgen -W "${names(commands)} help version" -- "$cur") )
    return
  fi
  case "\${COMP_WORDS[1]}" in
    help) words="${names(commands)}" ;;
${commands.map(caseOf).join('\n')}
  esac
  COMPREPLY=( $(compgen -W "$words" -- "$cur") )
}
_hookonce_sources() { "\${COMP_WORDS[0]}" completion sources 2>/dev/null; }
_hookonce_providers() { echo "${providers.join(' ')}"; }
_hookonce_paths() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=( $(compgen "$1" -- "$2") )
}
complete -F _hookonce hookonce
`
}

function names(commands: readonly CommandSyntax[]): string {
  return commands.map(({ name }) => name).join(' ')
}

function caseOf({ name, verbs, argument, options }: CommandSyntax): string {
  const words = [
    ...(verbs.length > 0 ? [`[ "$COMP_CWORD" -eq 2 ] && words="${verbs.join(' ')}"`] : []),
    ...argumentWords(argument),
    `case "$cur" in -*) words="${options.map((option) => option.name).join(' ')}" ;; esac`,
  ]
  return `    ${name})
      case "$prev" in
${valueCases(options).join('\n')}
      esac
${words.map((line) => `      ${line}`).join('\n')} ;;`
}

function argumentWords(argument: ValueKind): string[] {
  if (argument === 'source') return ['case "$cur" in -*) ;; *) words="$words $(_hookonce_sources)" ;; esac']
  return argument === 'provider' ? ['words="$words $(_hookonce_providers)"'] : []
}

/** After an option that takes a value, offers only values. */
function valueCases(options: readonly OptionSyntax[]): string[] {
  return options.flatMap(({ name, value }) =>
    value === undefined ? [] : [`        ${name}) ${offer(value)}; return ;;`],
  )
}

function offer({ kind, words }: NonNullable<OptionSyntax['value']>): string {
  if (words.length > 0) return `COMPREPLY=( $(compgen -W "${words.join(' ')}" -- "$cur") )`
  switch (kind) {
    case 'file':
      return '_hookonce_paths -f "$cur"'
    case 'folder':
      return '_hookonce_paths -d "$cur"'
    case 'source':
      return 'COMPREPLY=( $(compgen -W "$(_hookonce_sources)" -- "$cur") )'
    case 'provider':
      return 'COMPREPLY=( $(compgen -W "$(_hookonce_providers)" -- "$cur") )'
    case 'text':
      return ':'
  }
}
