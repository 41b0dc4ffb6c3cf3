import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { definedStatements } from '../../../src/ledger/driver/statement.ts'

/*
 * What Citus refuses, or spreads over its nodes, in the statements of a distributed ledger
 * (src/ledger/driver/shapes.ts). Statements for plain ledgers only may use all of it.
 */
const REFUSED: readonly { readonly rule: string; readonly found: (text: string) => boolean }[] = [
  {
    rule: 'an INSERT under WITH is copied to every node',
    found: (text) => /\bas (materialized )?\(\s*insert\b/.test(text),
  },
  {
    rule: 'DO UPDATE calls a function of time or a sequence',
    found: (text) => /\bdo update\b[\s\S]*\b(now|clock_timestamp|nextval)\(/.test(text),
  },
  {
    rule: 'a statement that changes rows calls a volatile function',
    found: (text) => /^\s*update\b[\s\S]*\b(nextval|clock_timestamp|set_config)\(/.test(text),
  },
  {
    rule: 'a query of WITH that locks rows has no columns',
    found: (text) => /\bas materialized \(\s*select from ledger\b/.test(text),
  },
  {
    rule: 'RETURNING calls a function',
    found: (text) => /\breturning\b[^()]*\b(now|current_setting|set_config)\(/.test(text),
  },
]

test('no statement of a distributed ledger uses what Citus cannot route', async () => {
  const folder = fileURLToPath(new URL('../../../src/ledger/', import.meta.url))
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.ts') && !file.endsWith('.d.ts') && !file.endsWith('.test.ts'))
      await import(folder + file)
  }
  const statements = definedStatements()
  expect(statements.filter(({ only }) => only === 'plain').length).toBeGreaterThan(15)
  const broken = statements
    .filter(({ only }) => only !== 'plain')
    .flatMap(({ name, text }) =>
      REFUSED.filter(({ found }) => found(text)).map(({ rule }) => `${name}: ${rule}`),
    )
  expect(broken).toEqual([])
})

test('the rules find what they are for', () => {
  const plain = definedStatements().filter(({ only }) => only === 'plain')
  const caught = plain.filter(({ text }) => REFUSED.some(({ found }) => found(text)))
  expect(caught.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'accept',
      'settle',
      'record_step',
      'add_messages',
      'rescue',
      'claim_suspect_lane',
    ]),
  )
})
