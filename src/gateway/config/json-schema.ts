import { z } from 'zod'
import { configSchema } from './schema.ts'

/** The JSON Schema of a configuration file, for editors. */
export function configJsonSchema(): Record<string, unknown> {
  return {
    title: 'The configuration of the hookonce gateway',
    ...z.toJSONSchema(configSchema, {
      io: 'input',
      // Checks in code, such as functions, have no schema. The JSON Schema accepts any value there.
      unrepresentable: 'any',
      override({ jsonSchema }) {
        delete jsonSchema.defaultsTo
        if (jsonSchema.description !== undefined)
          jsonSchema.description = withoutLinks(jsonSchema.description)
      },
    }),
  }
}

/** Descriptions are written for docs/reference. Their links lead from page to page. */
function withoutLinks(text: string): string {
  return text.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
}
