import type { SampleField } from '../sources/sample-fields.ts'
import { type Command, usageError } from './command.ts'

/**
 * Parses `data.object.amount=100`. A value that is valid JSON is read as JSON, any other value as
 * text.
 */
export function parseFields(command: Pick<Command, 'usage'>, given: readonly string[]): SampleField[] {
  return given.map((text) => {
    const cut = text.indexOf('=')
    const path = text.slice(0, Math.max(cut, 0)).split('.')
    if (path.some((step) => step === '' || step === '__proto__'))
      throw usageError(command, `--set is written as a.b=value, not "${text}"`)
    return { path, value: parseValue(text.slice(cut + 1)) }
  })
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
