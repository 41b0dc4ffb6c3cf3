import { z } from 'zod'
import { optionsSchema } from '../../src/keys/http/options.ts'
import { onceSchema } from '../../src/keys/once.ts'
import { optionTable } from './options.ts'

/** The options of keys over HTTP, with a star if `once()` does not take them, and the label of `once()`. */
export function keysTable(): string {
  const all = z.object({ ...optionsSchema.shape, label: onceSchema.shape.label })
  const both = new Set(Object.keys(onceSchema.shape))
  return optionTable(all, { mark: (name) => (both.has(name) ? '' : ' *') })
}
