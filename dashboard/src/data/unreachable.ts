import { signal } from '@preact/signals'

/*
 * The ledgers, of several, that cannot be read. The API names them in a header of each answer whose
 * part of them is missing. Answers that read only one ledger say nothing about the others.
 */

export const unreachable = signal<readonly string[]>([])

const HEADER = 'hookonce-unreachable-ledgers'
/** The paths whose last answer named a ledger. One of them without the header: all can be read. */
const missing = new Set<string>()

export function noteUnreachable(url: string, response: Response): void {
  const { pathname } = new URL(url)
  const header = response.headers.get(HEADER)
  if (header !== null) {
    missing.add(pathname)
    if (header !== unreachable.peek().join(', ')) unreachable.value = header.split(', ')
  } else if (response.ok && missing.has(pathname)) {
    missing.clear()
    unreachable.value = []
  }
}
