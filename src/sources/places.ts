import { z } from 'zod'

/*
 * A place is the location of one value in a delivery. `json:` and `form:` read the parsed body,
 * `item:` reads the single event of a batch, `claim:` the JSON Web Token in a header. `const:` is
 * the value itself.
 */

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

export function isHeaderName(text: string): boolean {
  return HEADER_NAME.test(text)
}

export const headerName = z.string().regex(HEADER_NAME, 'expected the name of a header').toLowerCase()

/**
 * The place of one value of an event: `header:x-event-id`, `json:data.object.id`, `item:id`,
 * `form:name`, `const:push`.
 */
export type Locator =
  | `header:${string}`
  | `json:${string}`
  | `item:${string}`
  | `form:${string}`
  | `claim:${string}`
  | `const:${string}`

/**
 * A place in the request. The query is not recorded, so no part of an event may be read from it.
 */
export type RequestLocator = Locator | `query:${string}`

/**
 * The steps of a path: `data.id` has two. A dot inside a name is escaped with a backslash:
 * `@odata\\.etag`.
 */
export function pathSteps(path: string): string[] {
  return path.split(/(?<!\\)\./).map((step) => step.replaceAll('\\.', '.'))
}

const isPath = (path: string): boolean => pathSteps(path).every(Boolean)

const CHECKS: Readonly<Record<string, (rest: string) => boolean>> = {
  header: (name) => HEADER_NAME.test(name),
  json: isPath,
  item: isPath,
  form: Boolean,
  claim: (path) => /^[^.]+\.[^.]+$/.test(path) && HEADER_NAME.test(path),
  const: Boolean,
  query: Boolean,
}

/** Splits `json:data.id` into kind and path. */
export function partsOf(place: string): [kind: string, rest: string] {
  const colon = place.indexOf(':')
  return [place.slice(0, colon), place.slice(colon + 1)]
}

export function isRequestLocator(value: unknown): value is RequestLocator {
  if (typeof value !== 'string') return false
  const [kind, rest] = partsOf(value)
  return Object.hasOwn(CHECKS, kind) && CHECKS[kind]?.(rest) === true
}

function isLocator(value: unknown): value is Locator {
  return isRequestLocator(value) && !value.startsWith('query:')
}

const EXPECTED =
  'expected header:<name> or json:<path>, such as json:data.id (also item:, form:, claim:, const:)'

export const locator = z.custom<Locator>(isLocator, EXPECTED)
export const locators = z.array(locator).min(1)
export const requestLocator = z.custom<RequestLocator>(
  isRequestLocator,
  'expected header:<name>, json:<path>, item:<path>, form:<name> or query:<name>',
)

/** One place, or several: the first that holds a value is used. */
export const place = z.union([locator, locators], { error: `${EXPECTED}, or an array of those` })

/** A `{name}` in a template. Everything between placeholders is literal text. */
const PLACEHOLDER = /\{([^{}]*)\}/g

export interface TemplatePiece {
  readonly literal: string
  readonly placeholder: string | undefined
}

export function templatePieces(template: string): TemplatePiece[] {
  const pieces: TemplatePiece[] = []
  let at = 0
  for (const match of template.matchAll(PLACEHOLDER)) {
    pieces.push({ literal: template.slice(at, match.index), placeholder: match[1] ?? '' })
    at = match.index + match[0].length
  }
  pieces.push({ literal: template.slice(at), placeholder: undefined })
  return pieces
}

/**
 * Checks that a template has balanced braces, and only the listed placeholders or places of the
 * request.
 */
export function checkTemplate(template: string, named: readonly string[], context: z.RefinementCtx): void {
  for (const { literal, placeholder } of templatePieces(template)) {
    if (/[{}]/.test(literal)) context.addIssue(`unbalanced brace near "${literal}"`)
    if (placeholder === undefined || named.some((name) => isNamed(placeholder, name))) continue
    if (/^setting:[A-Za-z]+$/.test(placeholder) || isRequestLocator(placeholder)) continue
    context.addIssue(
      `unknown {${placeholder}}; allowed: ${[...named, 'setting:<name>', 'header:<name>', 'json:<path>', 'item:<path>', 'form:<name>', 'query:<name>'].map((name) => `{${name}}`).join(', ')}`,
    )
  }
}

/** Whether a placeholder has this name. `field:<name>` stands for any name after `field:`. */
function isNamed(placeholder: string, name: string): boolean {
  const prefix = name.endsWith(':<name>') ? name.slice(0, -'<name>'.length) : undefined
  if (prefix === undefined) return placeholder === name
  return placeholder.startsWith(prefix) && placeholder.length > prefix.length
}

export function placeholdersOf(template: string): string[] {
  return templatePieces(template).flatMap(({ placeholder }) => placeholder ?? [])
}

/** The names of the settings that a template uses. */
export function settingsOf(template: string): string[] {
  return placeholdersOf(template).flatMap((placeholder) =>
    placeholder.startsWith('setting:') ? [placeholder.slice('setting:'.length)] : [],
  )
}
