/*
 * The language of the search: `source:stripe type:invoice.* since:2h` and free text. A value with
 * spaces is quoted: `error:"no customer"`.
 */

const tokenNames = [
  'source',
  'type',
  'state',
  'key',
  'object',
  'error',
  'since',
  'until',
  'subscriber',
  'tenant',
] as const

export type TokenName = (typeof tokenNames)[number]

export interface Word {
  /** Undefined: the token is free text. */
  readonly name: TokenName | undefined
  readonly value: string
  /** The position of the token in the text. */
  readonly from: number
  readonly to: number
}

/* A name whose value is missing, or a value with or without a name. */
const WORD = /([a-z]+):(?=\s|$)|(?:([a-z]+):)?("[^"]*"?|\S+)/g

/** The words of a search, in their order. */
export function wordsOf(text: string): readonly Word[] {
  return [...text.matchAll(WORD)].map((found) => {
    const [whole, bare, given = '', quoted = ''] = found
    const at = { from: found.index, to: found.index + whole.length }
    const name = tokenNames.find((one) => one === (bare ?? given))
    if (!name) return { name: undefined, value: unquoted(whole), ...at }
    return { name, value: bare === undefined ? unquoted(quoted) : '', ...at }
  })
}

function unquoted(text: string): string {
  return text.startsWith('"') ? text.replace(/^"|"$/g, '') : text
}

export type SearchFilter = { readonly [Name in TokenName | 'q']?: string | undefined }

/** The query for the API. If a name is given twice, the last one counts. */
export function filterOf(text: string): SearchFilter {
  const filter: Partial<Record<TokenName | 'q', string>> = {}
  for (const { name, value } of wordsOf(text)) {
    if (value === '') continue
    if (name) filter[name] = value
    else filter.q = filter.q === undefined ? value : `${filter.q} ${value}`
  }
  return filter
}

function quotedValue(value: string): string {
  return /[\s"]/.test(value) ? `"${value.replaceAll('"', '')}"` : value
}

/** The search text of a filter. */
export function searchOf(filter: SearchFilter): string {
  return Object.entries(filter)
    .flatMap(([name, value]) =>
      value === undefined ? [] : name === 'q' ? [value] : [`${name}:${quotedValue(value)}`],
    )
    .join(' ')
}

/** Known values of a name, for completion. */
export type KnownValues = Readonly<Partial<Record<TokenName, readonly string[]>>>

export interface Completion {
  readonly label: string
  /** The whole search after the completion. */
  readonly text: string
  readonly caret: number
  /** Whether the completion is a name that still needs a value. */
  readonly isName: boolean
}

const FIXED: KnownValues = {
  state: ['failed', 'attention', 'retrying', 'processing', 'received', 'processed'],
  since: ['15m', '1h', '2h', '24h', '7d'],
  until: ['15m', '1h', '24h'],
}
const MAX_COMPLETIONS = 10

/** Completions at the caret. */
export function completionsAt(text: string, caret: number, known: KnownValues): readonly Completion[] {
  const word = wordsOf(text).find(({ from, to }) => from < caret && caret <= to)
  const typed = text.slice(word?.from ?? caret, caret)
  const put = (label: string, piece: string, isName: boolean): Completion => {
    const from = word?.from ?? caret
    const after = text.slice(word?.to ?? caret)
    const space = isName || after.startsWith(' ') ? '' : ' '
    const before = text.slice(0, from)
    const gap = before === '' || /\s$/.test(before) ? '' : ' '
    const done = `${before}${gap}${piece}${space}`
    return { label, text: `${done}${after}`, caret: done.length, isName }
  }
  if (word?.name) {
    const { name, value } = word
    const values = [...new Set([...(FIXED[name] ?? []), ...(known[name] ?? [])])]
    return values
      .filter((one) => one.toLowerCase().includes(value.toLowerCase()) && one !== value)
      .slice(0, MAX_COMPLETIONS)
      .map((one) => put(one, `${name}:${quotedValue(one)}`, false))
  }
  return tokenNames
    .filter((name) => name.startsWith(typed.toLowerCase()))
    .map((name) => put(`${name}:`, `${name}:`, true))
}
