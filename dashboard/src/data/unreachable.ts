import { signal } from '@preact/signals'

/*
 * The ledgers that cannot be read. If rows of a ledger are missing in an answer, a header of the
 * answer names the ledger. An answer from only one ledger shows nothing about the others.
 */

export const unreachable = signal<readonly string[]>([])

const HEADER = 'hookonce-unreachable-ledgers'
/** The paths whose last answer named a ledger. An answer without the header clears all of them. */
const missing = new Set<string>()

export function noteUnreachable(response: Response): void {
  const [path = ''] = response.url.split('?', 1)
  const header = response.headers.get(HEADER)
  if (header !== null) {
    missing.add(path)
    if (header !== unreachable.peek().join(', ')) unreachable.value = header.split(', ')
  } else if (response.ok && missing.has(path)) {
    missing.clear()
    unreachable.value = []
  }
}
