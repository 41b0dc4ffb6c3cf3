import { signal } from '@preact/signals'
import { focusedField } from './keys.ts'

/*
 * The current path of the page. Paths are relative to the mount path that the server put into the
 * page's <base>. Any <a href> of the page navigates without a reload.
 */

export interface Place {
  /** The path from `/` on, without the mount path. */
  readonly path: string
  readonly query: URLSearchParams
  /** Whether the page was reached by the back or forward button. */
  readonly isReturn: boolean
}

const mount = new URL(document.baseURI).pathname.replace(/\/$/, '')

export const place = signal<Place>(readPlace())

function readPlace(isReturn = false): Place {
  const { pathname, search } = window.location
  return { path: pathname.slice(mount.length) || '/', query: new URLSearchParams(search), isReturn }
}

/** The address of a path of the page, for `href`. */
export function href(path: string, query?: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query ?? {}).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const search = new URLSearchParams(given).toString()
  return `${mount}${path}${search === '' ? '' : `?${search}`}`
}

/** Marks the entries of the history that were reached from another page of ours. */
const FROM_US = { isFromUs: true }

/** Returns to the page before, or to this path if the user came from elsewhere. */
export function goBack(path: string): void {
  if (window.history.state?.isFromUs === true) window.history.back()
  else navigate(href(path))
}

export function navigate(address: string): void {
  // A user who leaves a page leaves its fields too, so the new page may take the focus.
  focusedField()?.blur()
  window.history.pushState(FROM_US, '', address)
  place.value = readPlace()
  window.scrollTo(0, 0)
}

/**
 * Changes parts of the query, so that the address can be shared. An empty value removes its part.
 * The back button skips such changes unless `push` is set.
 */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  { push = false }: { readonly push?: boolean } = {},
): void {
  const { path, query } = place.peek()
  const next = { ...Object.fromEntries(query), ...changes }
  const kept = Object.entries(next).filter(([, value]) => value !== undefined && value !== '')
  const address = href(path, Object.fromEntries(kept))
  if (push) window.history.pushState(FROM_US, '', address)
  else window.history.replaceState(window.history.state, '', address)
  place.value = readPlace()
}

/** One part of the query. A component that reads it renders again when it changes. */
export function queryValue(name: string): string {
  return place.value.query.get(name) ?? ''
}

export function startRouter(): void {
  window.addEventListener('popstate', () => {
    place.value = readPlace(true)
  })
  document.addEventListener('click', (event) => {
    const address = followed(event)
    if (address === undefined) return
    event.preventDefault()
    navigate(address)
  })
}

/** The target of a plain click on a link of this page. The browser handles all other clicks. */
function followed(event: MouseEvent): string | undefined {
  if (event.defaultPrevented || event.button !== 0) return undefined
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return undefined
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (!link?.hasAttribute('href') || link.hasAttribute('download') || link.target !== '') return undefined
  const url = new URL(link.href)
  const isOurs = url.origin === window.location.origin && `${url.pathname}/`.startsWith(`${mount}/`)
  if (!isOurs || url.hash !== '' || url.pathname.startsWith(`${mount}/api/`)) return undefined
  return `${url.pathname}${url.search}`
}

/**
 * The values of `:name` in a pattern. Undefined: the path does not match, or a value of it cannot
 * be decoded.
 */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? ''
    if (!part.startsWith(':')) {
      if (part !== value) return undefined
      continue
    }
    const decoded = decodedPart(value)
    if (decoded === undefined) return undefined
    params[part.slice(1)] = decoded
  }
  return params
}

/** Undefined: the text is not a valid part of a URL, such as `%zz`. */
function decodedPart(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
