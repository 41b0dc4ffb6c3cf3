import { type Queryable, rows, statement } from '../driver/statement.ts'
import type { CircuitState } from '../jobs/circuits.ts'

/* Circuits and rates of the subscribers. One row per subscriber: cheap, whatever the backlog. */
const LIMITED = statement(
  'limited_subscribers',
  `select s.id, s.tenant, s.source, s.name as subscriber, l.name as limiter, l.has_circuit as "hasCircuit",
     l.state, l.since, l.reason, l.failed_probes as "failedProbes", l.passed_probes as "passedProbes",
     case when l.state = 'open' then l.probe_at end as "nextProbeAt",
     l.state = 'half-open' and l.prober is not null as "isProbing",
     l.per_second as "perSecond", l.burst,
     least(l.burst, l.tokens + greatest(0, extract(epoch from now() - l.refilled_at)) * l.per_second)::float8 as tokens
   from ledger.subscriber s
   join ledger.limiter l on l.id = s.limiter
   order by s.tenant, s.source, s.name`,
)

export interface LimitedRow {
  readonly id: number
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
  readonly limiter: string
  readonly hasCircuit: boolean
  readonly state: CircuitState
  readonly since: Date
  readonly reason: string | null
  readonly failedProbes: number
  readonly passedProbes: number
  readonly nextProbeAt: Date | null
  readonly isProbing: boolean
  readonly perSecond: number | null
  readonly burst: number | null
  readonly tokens: number | null
}

/** The subscribers that have a circuit or a rate. */
export async function limitedSubscribers(db: Queryable): Promise<LimitedRow[]> {
  return rows(db, LIMITED)
}
