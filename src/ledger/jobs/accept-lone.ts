import { WITH_DURABLE } from '../../sql/durable.ts'
import { type Statement, statement } from '../driver/statement.ts'
import { type Column, type LoneWork, type Parameter, PLAIN_PAYLOAD, RECEIPT } from './accept-parameters.ts'
import { runnableBy, stateFor } from './accept-statements.ts'

/*
 * Accept, for one receipt with at most one job: what a receiver gets at a moderate rate. Values
 * instead of arrays save a fifth of the statement's time, in the server and in this process. The
 * conditions and results are those of accept-statements.ts.
 */

interface LoneStatement extends Statement {
  readonly parameters: readonly Parameter<LoneWork>[]
}

const COLUMNS: Readonly<Record<string, Parameter<LoneWork>>> = {
  tenant: { type: 'text', encode: ({ receipt }) => receipt.tenant },
  source: { type: 'text', encode: ({ receipt }) => receipt.source },
  ...loneColumns({ ...RECEIPT, ...PLAIN_PAYLOAD }),
}

const JOB = {
  subscriber: { type: 'integer', encode: ({ job }) => job?.subscriber ?? null },
  born: { type: 'boolean', encode: ({ job }) => job?.bornLeased ?? false },
  worker: { type: 'integer', encode: ({ worker }) => worker ?? null },
} satisfies Record<string, Parameter<LoneWork>>

function loneColumns(all: Readonly<Record<string, Parameter | Column>>): Record<string, Parameter<LoneWork>> {
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, each]) =>
      'lone' in each && each.lone ? [[name, each.lone] as const] : [],
    ),
  )
}

function loneStatement(name: string, brought: (at: Places) => string, others = ''): LoneStatement {
  const parameters: Readonly<Record<string, Parameter<LoneWork>>> = { ...COLUMNS, ...JOB }
  const at = Object.fromEntries(
    Object.entries(parameters).map(([each, { type }], index) => [each, `$${index + 1}::${type}`]),
  ) as Places
  const columns = Object.keys(COLUMNS)
  const text = `with ${WITH_DURABLE}, recorded as (
     insert into ledger.receipt
       (${columns.join(', ')})
     select ${columns.map((each) => at[each]).join(', ')}
     from durable
     on conflict (shard, id) do nothing
     returning shard, id
   ), brought as (
     insert into ledger.job (shard, receipt_id, subscriber, state${brought(at)}
     where ${at.subscriber} is not null
     returning receipt_id, subscriber, state
   )
   select ${at.id} as id, null::integer as held
   where not exists (select from recorded)${others}`
  const sent = Object.entries(parameters).filter(([each]) => text.includes(at[each] ?? ''))
  return { ...statement(name, text, { only: 'plain' }), parameters: sent.map(([, each]) => each) }
}

/** Each parameter as it is written in a text: `$1::smallint`. */
type Places = Readonly<Record<keyof typeof JOB, string>> & Readonly<Record<string, string>>

export const ACCEPT_LONE = {
  plain: loneStatement(
    'accept_lone',
    ({ subscriber }) => `)
     select r.shard, r.id, ${subscriber}, 'received'
     from recorded r`,
  ),
  leased: loneStatement(
    'accept_lone_leased',
    ({ subscriber, born, worker }) => `, worker, fence, attempt, started_at)
     select r.shard, r.id, ${subscriber}, ${stateFor(worker)}
     from recorded r
     left join (
       ${runnableBy(worker)} and s.id = ${subscriber}
     ) u on ${born}`,
    `
   union all
   select b.receipt_id, b.subscriber from brought b where b.state = 'received'`,
  ),
}
