import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { NOT_PUSHED } from '../../../src/ledger/driver/shapes.ts'
import { definedStatements } from '../../../src/ledger/driver/statement.ts'

const VOLATILE = String.raw`\b(nextval|clock_timestamp|set_config|random|gen_random_uuid)\(`
/** Functions whose result depends on the session, such as its time zone. */
const STABLE = String.raw`\b(now|date_trunc|extract|to_char|to_timestamp|json_build_object|jsonb_build_object|row_to_json|to_jsonb?|json_to_recordset|json_populate_recordset)\(`
const COLUMN = String.raw`\b[a-z]+\.[a-z_]+\b`

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
    found: (text) => changesOf(text).some((each) => new RegExp(VOLATILE).test(each)),
  },
  {
    rule: 'CASE or COALESCE of an UPDATE calls now()',
    found: (text) =>
      changesOf(text).some((each) =>
        [/\bcase\b(?:(?!\bend\b)[\s\S])*\bnow\(/, /\bcoalesce\((?:[^()]|\([^()]*\))*\bnow\(/].some((one) =>
          one.test(each),
        ),
      ),
  },
  {
    rule: 'an UPDATE calls a stable function of a column, or adds a column to a time',
    found: (text) =>
      changesOf(text).some((each) =>
        [
          new RegExp(`${STABLE}[^()]*${COLUMN}`),
          new RegExp(String.raw`\bnow\(\) *[+-] *[^,;]*?${COLUMN}[^,;]*interval`),
          /_at *[+-] *[^,;]*interval/,
        ].some((one) => one.test(each)),
      ),
  },
  {
    rule: 'an INSERT whose SELECT reads a table calls a stable function',
    found: (text) => {
      const isSelect = /^\s*(?:with\b[\s\S]*)?\binsert into ledger\.[^;]*?\bselect\b/.test(text)
      const query = text.replace(/\binsert into ledger\.\w+/g, '')
      return (
        isSelect &&
        /\b(from|join) ledger\.\w+/.test(query) &&
        new RegExp(STABLE).test(text) &&
        !text.includes(NOT_PUSHED)
      )
    },
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

/** Each UPDATE and DELETE of a statement, without the rest of its WITH. */
function changesOf(text: string): string[] {
  return [...text.matchAll(/\b(update|delete from) ledger\./g)].map(({ index }) => {
    let depth = 0
    for (let at = index; at < text.length; at += 1) {
      if (text[at] === '(') depth += 1
      if (text[at] === ')') depth -= 1
      if (depth < 0) return text.slice(index, at)
    }
    return text.slice(index)
  })
}

function rulesOn(text: string): string[] {
  return REFUSED.filter(({ found }) => found(text)).map(({ rule }) => rule)
}

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
    .flatMap(({ name, text }) => rulesOn(text).map((rule) => `${name}: ${rule}`))
  expect(broken).toEqual([])
})

test('the rules find what they are for', () => {
  const plain = definedStatements().filter(({ only }) => only === 'plain')
  const caught = plain.filter(({ text }) => rulesOn(text).length > 0)
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

test.each([
  ['a statement that changes rows', `update ledger.lane set fence = nextval('ledger.fence') where id = $1`],
  ['a statement that changes rows', `with a as (select) update ledger.job j set at = clock_timestamp()`],
  ['a statement that changes rows', `with d as (delete from ledger.job where random() < $1) select`],
  ['CASE or COALESCE', `update ledger.job set due_at = case when $1 then now() end where id = $2`],
  ['CASE or COALESCE', `update ledger.job set due_at = coalesce(due_at, now())`],
  [
    'an UPDATE calls a stable',
    `delete from ledger.hour h where exists (select where date_trunc('hour', c.at) = h.at)`,
  ],
  [
    'an UPDATE calls a stable',
    `update ledger.job j set due_at = now() + o.wait * interval '1 second' from o`,
  ],
  ['an INSERT whose SELECT', `insert into ledger.sweep select now() from ledger.source`],
  [
    'an INSERT whose SELECT',
    `with c as (select now() from ledger.source) insert into ledger.sweep select * from c`,
  ],
])('the rule on %s finds %s', (rule, text) => {
  expect(rulesOn(text)).toEqual([expect.stringContaining(rule)])
})

test.each([
  `update ledger.job set due_at = now() where id = $1`,
  `update ledger.job j set due_at = c.now from (select now() as now) c where j.id = $1`,
  `update ledger.job set due_at = now() + $1 * interval '1 second'`,
  `insert into ledger.sweep (shard, at) values ($1, now())`,
  `insert into ledger.hour select date_trunc('hour', at) from json_to_recordset($1::json) c(at timestamptz)`,
  `insert into ledger.job select now() from ledger.job where ${NOT_PUSHED}`,
])('no rule finds %s', (text) => {
  expect(rulesOn(text)).toEqual([])
})
