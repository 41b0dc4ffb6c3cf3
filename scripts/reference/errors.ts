import { type ErrorEntry, errorCatalogue } from '../../src/model/errors.ts'
import { code, markdownTable } from './markdown.ts'

export function errorTable(): string {
  const rows = Object.entries<ErrorEntry>(errorCatalogue).map(([name, { status, retryable, advice }]) => [
    code(name),
    String(status ?? ''),
    retryable ? 'yes' : 'no',
    advice,
  ])
  return markdownTable(['code', 'status', 'retryable', 'what to do'], rows)
}
