import { expect, test } from 'vitest'
import { mutantsIn } from '../../scripts/mutants/find.mjs'

/** The source with one guard removed, for each guard. */
function mutated(text: string): string[] {
  return mutantsIn({ file: 'x.ts', text }).map(({ piece, nth, mutated }) => {
    const parts = text.split(piece)
    return `${parts.slice(0, nth + 1).join(piece)}${mutated}${parts.slice(nth + 1).join(piece)}`
  })
}

test.each([
  ['a row lock', 'x for update of j skip locked', ['x']],
  ['a shared lock', 'x for share', ['x']],
  ['a lock of a key', 'x for key share', ['x']],
  ['a state, with a literal', `where a and j.state = 'failed'`, ['where a and true']],
  ['a state, with a parameter', 'and state = any($1::t[])', ['and ($1::t[] is not null or true)']],
  ['a state as text', 'or k.state::text = $9::text', ['or ($9::text is not null or true)']],
  ['a state that is excluded', `when state <> 'closed' then 1`, ['when true then 1']],
  ['a state, first in a constant', `j.state = 'failed' and a`, ['true and a']],
  ['a state, first in parentheses', `(l.state = 'open' and a)`, ['(true and a)']],
  ['a state, first in a select list', `select j.state = 'processed' and a`, ['select true and a']],
  ['a fence', 'and fence = $4::integer', ['and ($4::integer is not null or true)']],
  ['a fence, first in parentheses', 'and (j.fence = 0 or a)', ['and (true or a)']],
  ['a fence that is positive', '(where j.fence > 0)', ['(where true)']],
  ['a raised fence', 'set a = 1, fence = j.fence + 1', ['set a = 1, fence = j.fence']],
  ['a fence without an alias', 'set fence = fence + 1, a = 1', ['set fence = fence, a = 1']],
  ['a drawn fence', `fence = nextval('s'), a = 1`, [`fence = fence + 0 * nextval('s'), a = 1`]],
  ['a given fence', 'set a = 1, fence = $6::integer', ['set a = 1, fence = fence + 0 * $6::integer']],
  ['a decided fence', 'set a = 1, fence = case when a then 0 end', ['set a = 1, fence = fence']],
  ['a given state', 'set state = $4::t, a = 1', ['set state = coalesce(state, $4::t), a = 1']],
  ['a copied state', 'set state = e.state, a = 1', ['set a = 1']],
  ['a state, set later', `set a = 1, state = 'open', b = 2`, ['set a = 1, b = 2']],
  ['a decided state', `set state = case when a then 'x' else 'y' end, a = 1`, ['set a = 1']],
  ['a cast state', `set state = (case when a then 'x' end)::t, a = 1`, ['set a = 1']],
  [
    'durability',
    `set_config('synchronous_commit', 'on', true)`,
    [`set_config('hookonce.mutant', 'on', true)`],
  ],
  ['a reader of durability', `current_setting('synchronous_commit')`, [`'on'`]],
  ['a fast commit', `set_config('synchronous_commit', 'off', true)`, []],
  ['columns', `select state, fence - 1, state = 'failed' as buried`, []],
  ['columns of an insert', `insert into job (state, fence) values ('received', 0)`, []],
])('%s', (_, sql, without) => {
  expect(mutated(`const SQL = \`${sql}\``)).toEqual(without.map((text) => `const SQL = \`${text}\``))
})

test.each([
  ['a list of states', '`a and j.state in ${STATES} and b`', ['`a and true and b`']],
  [
    'a state of a named table',
    "`case when ${j}.state <> 'x' then ${j}.a end`",
    ['`case when true then ${j}.a end`'],
  ],
  ['a quoted state', "`and o.state = '${state}' and a`", ['`and true and a`']],
  ['a fence', '`fence = ${fence}, a = 1`', ['`fence = fence + 0 * ${fence}, a = 1`']],
  ['durability', '`select ${DURABLE} from a`', ['`select null from a`']],
  [
    'a durable query',
    '`with ${WITH_DURABLE}, a`',
    ['`with durable as materialized (select null as synchronous_commit), a`'],
  ],
  ['a guard after a constant', "`${A} and state = 'x'`", ['`${A} and true`']],
  ['a guard after a call', "`${a({ b })} and state = 'x'`", ['`${a({ b })} and true`']],
  ['a guard in an expression', "`a ${b ? ` where state = 'x'` : ''} c`", ["`a ${b ? ` where true` : ''} c`"]],
  ['a case with a constant', "`set state = case when a < ${B} then 'x' end, a = 1`", ['`set a = 1`']],
  [
    'the second of two equal texts',
    '`a for update`, `a for update`',
    ['`a`, `a for update`', '`a for update`, `a`'],
  ],
  ['a comment', '/* `a for update` */ // `a for update`', []],
])('inserted expressions: %s', (_, source, without) => {
  expect(mutated(source)).toEqual(without)
})

test('a mutant names its line, and a part of the statement that no expression interrupts', () => {
  const text = ['const SQL = `select a, ${b}', "  from job where state = 'failed'", '  and ${c} d`'].join(
    '\n',
  )
  expect(mutantsIn({ file: 'x.ts', text })).toMatchObject([
    { line: 2, removed: "state = 'failed'", sent: "\n  from job where state = 'failed'\n  and " },
  ])
})
