import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { refuseInWrite } from '../sql/statement-kind.ts'

const values = z.array(z.unknown())
/**
 * The number of rows that the statement must change. With any other number the attempt fails, and
 * nothing is written.
 */
const rows = z.int().nonnegative().optional()

const writeSchema = z.union(
  [
    strict({ text: z.string().min(1), values: values.default([]), rows }),
    // Accepts the results of Drizzle's toSQL() and Kysely's compile(), which have additional keys.
    z.looseObject({ sql: z.string().min(1), params: values, rows }),
    z.looseObject({ sql: z.string().min(1), parameters: z.array(z.unknown()).readonly(), rows }),
  ],
  { error: 'expected { text, values } or a compiled query of Drizzle or Kysely' },
)

/** One business write as a statement, committed with the completion of its job. */
export type Write = z.input<typeof writeSchema>

export interface CheckedWrite {
  readonly text: string
  readonly values: readonly unknown[]
  readonly rows: number | undefined
}

export function checkWrite(write: Write): CheckedWrite {
  const checked = statementOf(check(writeSchema, write, 'ctx.write()'))
  refuseInWrite(checked.text)
  return checked
}

function statementOf(checked: z.output<typeof writeSchema>): CheckedWrite {
  if ('text' in checked && 'values' in checked) {
    return { text: String(checked.text), values: values.parse(checked.values), rows: checked.rows }
  }
  const given = 'params' in checked ? checked.params : 'parameters' in checked ? checked.parameters : []
  return { text: String(checked.sql), values: values.parse(given), rows: checked.rows }
}
