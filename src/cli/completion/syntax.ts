/*
 * Parses the usage of a command for completions. The usage is the help text, so completions and
 * help cannot differ. A test checks that the usage lists every option that the command accepts.
 */

/** The kind of a value, if completions exist for it. */
export type ValueKind = 'file' | 'folder' | 'source' | 'provider' | 'text'

export interface OptionSyntax {
  /** The name of the option, with its dashes. */
  readonly name: string
  /** Undefined: the option takes no value. */
  readonly value?: { readonly kind: ValueKind; readonly words: readonly string[] } | undefined
  readonly meaning: string
}

export interface CommandSyntax {
  readonly name: string
  readonly summary: string
  /** Words that may follow the name, such as `list` and `create`. */
  readonly verbs: readonly string[]
  /** The kind of the first argument, after the verb if there is one. */
  readonly argument: ValueKind
  readonly options: readonly OptionSyntax[]
}

export interface DescribedCommand {
  readonly name: string
  readonly summary: string
  readonly usage: string
}

/** In a usage, `STATE` means a word of this list. */
export type KnownWords = Readonly<Record<string, readonly string[]>>

export function syntaxOf({ name, summary, usage }: DescribedCommand, known: KnownWords): CommandSyntax {
  const [synopsis = '', ...rest] = usage.split('\n\n')
  const lines = ownLines(synopsis, name)
  const meanings = meaningsIn(rest.join('\n'))
  const options = new Map<string, OptionSyntax>()
  for (const line of lines)
    for (const option of optionsIn(line, known))
      if (!options.has(option.name))
        options.set(option.name, { ...option, meaning: meanings.get(option.name) ?? '' })
  return {
    name,
    summary,
    verbs: [...new Set(lines.flatMap(verbsIn))],
    argument: lines.map(argumentIn).find((kind) => kind !== 'text') ?? 'text',
    options: [...options.values(), { name: '--help', meaning: 'explains this command' }],
  }
}

/** The forms of this command, each as one line that begins after the command's name. */
function ownLines(synopsis: string, name: string): string[] {
  return synopsis
    .replaceAll(/\n\s+/g, ' ')
    .split('\n')
    .flatMap((line) => {
      const [, rest] = new RegExp(`^(?:[A-Z_]+=\\S+ )?hookonce ${name}(?= |$)(.*)$`).exec(line) ?? []
      return rest === undefined ? [] : [rest.trim()]
    })
}

function verbsIn(line: string): string[] {
  const [first = ''] = line.split(' ')
  return /^[a-z][a-z-]*(\|[a-z][a-z-]*)*$/.test(first) ? first.split('|') : []
}

function argumentIn(line: string): ValueKind {
  const [, word = ''] = /<([^>]*)>/.exec(line.split(' --', 1)[0] ?? '') ?? []
  if (word === 'source') return 'source'
  return word === 'provider' || word === 'id' ? 'provider' : 'text'
}

function optionsIn(line: string, known: KnownWords): Omit<OptionSyntax, 'meaning'>[] {
  // A value follows after one blank. The end of a bracket or another option is not a value.
  return [...line.matchAll(/--([a-z][a-z-]*)(?: (?![|[]|--|…)([^\s\]]+))?/g)].map(([, name = '', value]) => {
    const option = `--${name}`
    return value === undefined ? { name: option } : { name: option, value: valueSyntax(name, value, known) }
  })
}

function valueSyntax(option: string, value: string, known: KnownWords): NonNullable<OptionSyntax['value']> {
  if (/^[a-z-]+(\|[a-z-]+)+$/.test(value)) return { kind: 'text', words: value.split('|') }
  return { kind: kindOf(option, value), words: known[value] ?? [] }
}

function kindOf(option: string, value: string): ValueKind {
  if (option === 'dir') return 'folder'
  if (value === 'FILE' || /\.(json|txt)$/.test(value)) return 'file'
  if (option === 'source') return 'source'
  return option === 'provider' ? 'provider' : 'text'
}

/** The description of an option in the usage: `  --since   received at …`. */
function meaningsIn(text: string): Map<string, string> {
  const found = [...text.matchAll(/^ *((?:--[a-z-]+(?:, )?)+)(?::| {2,}) *(\S.*)$/gm)]
  return new Map(
    found.flatMap(([, names = '', meaning = '']) =>
      names.split(', ').map((name): [string, string] => [name, shortened(meaning)]),
    ),
  )
}

const MAX_CHARS = 60

function shortened(meaning: string): string {
  const [first = ''] = meaning.split(/[.;:] |[.;:]$/)
  return first.length <= MAX_CHARS ? first : `${first.slice(0, MAX_CHARS - 1).trimEnd()}…`
}
