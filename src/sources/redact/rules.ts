import { z } from 'zod'
import { isHeaderName } from '../places.ts'

/*
 * What is not stored. A rule names a value of the body or a header:
 *
 * | rule                | hides                                                       |
 * |---------------------|-------------------------------------------------------------|
 * | `$.customer.email`  | the value of a member                                       |
 * | `$["a.b"].c`        | the same, for names with dots, brackets or quotes           |
 * | `$.items[0].card`   | a member of one element                                     |
 * | `$.items[*].card`   | the same in every element; `.*` is every member             |
 * | `$.**.email`        | every member with this name, at any depth                   |
 * | `$`                 | the whole body                                              |
 * | `form:email`        | every field with this name of a form                        |
 * | `header:x-user`     | the value of a header                                       |
 */

export type Step =
  | { readonly is: 'name'; readonly name: string }
  | { readonly is: 'index'; readonly index: number }
  /** Any member or element. */
  | { readonly is: 'any' }
  /** Any number of levels, including none. Another step follows. */
  | { readonly is: 'deep' }

export type Path = readonly Step[]

export interface Rules {
  /** Paths into JSON. An empty path is the whole body. */
  readonly paths: readonly Path[]
  readonly fields: ReadonlySet<string>
  /** Names of headers, in lower case. */
  readonly headers: ReadonlySet<string>
}

/** The matcher keeps the steps of a path in the bits of one number. */
const MAX_STEPS = 30
/** Each rule is compared with each member on its path. Real lists of personal data are shorter. */
const MAX_RULES = 64

const EXPECTED =
  'expected a path such as $.customer.email, $.items[*].card or $.**.email, or form:<field>, or header:<name>'

export const redactSchema = z
  .array(z.string().max(512))
  .max(MAX_RULES)
  .superRefine((rules, context) => {
    for (const [index, rule] of rules.entries())
      if (!isRule(rule))
        context.addIssue({ code: 'custom', path: [index], message: `"${rule}": ${EXPECTED}` })
  })
  .default([])

function isRule(text: string): boolean {
  if (text.startsWith('header:')) return isHeaderName(text.slice('header:'.length))
  if (text.startsWith('form:')) return text.length > 'form:'.length
  return parsePath(text) !== undefined
}

/** Groups rules that `redactSchema` has checked. */
export function parseRules(texts: readonly string[]): Rules {
  const paths: Path[] = []
  const fields = new Set<string>()
  const headers = new Set<string>()
  for (const text of texts) {
    if (text.startsWith('header:')) headers.add(text.slice('header:'.length).toLowerCase())
    else if (text.startsWith('form:')) fields.add(text.slice('form:'.length))
    else paths.push(parsePath(text) ?? [])
  }
  return { paths, fields, headers }
}

const STEP = /\.(\*\*|\*|[^.[\]*"\s]+)|\[(?:(\*)|(0|[1-9][0-9]{0,8})|("(?:[^"\\]|\\.)*"))\]/y

export function parsePath(text: string): Path | undefined {
  if (!text.startsWith('$')) return undefined
  const steps: Step[] = []
  const next = new RegExp(STEP)
  next.lastIndex = 1
  while (next.lastIndex < text.length) {
    const match = next.exec(text)
    const step = match && stepOf(match)
    const isDoubled = step?.is === 'deep' && steps.at(-1)?.is === 'deep'
    if (!step || isDoubled || steps.length === MAX_STEPS) return undefined
    steps.push(step)
  }
  return steps.at(-1)?.is === 'deep' ? undefined : steps
}

function stepOf([, name, any, index, quoted]: RegExpExecArray): Step | undefined {
  if (name === '**') return { is: 'deep' }
  if (name === '*' || any !== undefined) return { is: 'any' }
  if (name !== undefined) return { is: 'name', name }
  if (index !== undefined) return { is: 'index', index: Number(index) }
  const parsed = parseQuoted(quoted ?? '')
  return parsed === undefined ? undefined : { is: 'name', name: parsed }
}

function parseQuoted(text: string): string | undefined {
  try {
    return String(JSON.parse(text))
  } catch {
    return undefined
  }
}
