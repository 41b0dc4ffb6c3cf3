import { together } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'

/*
 * A limiter holds the circuit and the rate of one subscriber, or of several that name the same
 * limiter. circuits.ts has the statements of its circuit.
 */

/*
 * Registers a limiter as the calling process configures it. If it has no circuit, an open circuit
 * is closed, because no worker would probe it.
 */
const REGISTER = statement(
  'register_limiter',
  `insert into ledger.limiter as l (name, has_circuit, per_second, burst, tokens, since)
   values ($1, $2::boolean, $3::float8, $4::float8, $4::float8, now())
   on conflict (name) do update set
     has_circuit = excluded.has_circuit,
     per_second = excluded.per_second,
     burst = excluded.burst,
     tokens = least(coalesce(l.tokens, excluded.burst), excluded.burst),
     state = case when excluded.has_circuit then l.state else 'closed' end,
     since = case when excluded.has_circuit or l.state = 'closed' then l.since else excluded.since end,
     reason = case when excluded.has_circuit then l.reason end,
     generation = l.generation + (not excluded.has_circuit and l.state <> 'closed')::integer
   returning id`,
)

const RELEASE_HELD = statement(
  'release_held',
  `update ledger.subscriber set held_at = null where limiter = $1::integer and held_at is not null`,
)

export interface LimiterRow {
  readonly name: string
  readonly hasCircuit: boolean
  readonly rate: { readonly perSecond: number; readonly burst: number } | undefined
}

/** Returns the limiter's number. Subscribers refer to their limiter by this number. */
export async function registerLimiter(
  db: Queryable,
  { name, hasCircuit, rate }: LimiterRow,
): Promise<number> {
  const values = [name, hasCircuit, rate?.perSecond ?? null, rate?.burst ?? null]
  const row = await together(db, async (client) => {
    const [registered] = await rows<{ id: number }>(client, REGISTER, values)
    if (registered && !hasCircuit) await change(client, RELEASE_HELD, [registered.id])
    return registered
  })
  if (!row) throw new Error(`the ledger gave no id to limiter ${name}`)
  return row.id
}

/*
 * Takes tokens from a rate: one for each run that may begin.
 * - FOR UPDATE: processes take one after the other, each from what the one before has left.
 * - A process that waited for the lock may hold an older time than the row: then nothing is added.
 * - Does not wait for the disk: a crash of the server gives back a few tokens.
 * Without a rate (another process has registered the limiter without one), everything is granted.
 */
const TAKE = statement(
  'take_tokens',
  `with hurried as materialized (
     select set_config('synchronous_commit', 'off', true)
   ), found as materialized (
     select l.id, l.per_second, l.burst, l.tokens, l.refilled_at, clock_timestamp() as at
     from hurried cross join ledger.limiter l where l.id = $1::integer
     for update of l
   ), filled as (
     select id, per_second, greatest(at, refilled_at) as at,
       least(burst, tokens + greatest(0, extract(epoch from at - refilled_at)) * per_second) as tokens
     from found
   ), taken as (
     update ledger.limiter l
     set tokens = f.tokens - least(floor(f.tokens), $2::integer), refilled_at = f.at
     from filled f where l.id = f.id
   )
   select coalesce(least(floor(tokens), $2::integer), $2::integer)::integer as granted,
     coalesce((floor(tokens) + 1 - tokens) / per_second * 1000, 0)::float8 as "nextMs"
   from filled`,
)

export interface Tokens {
  readonly granted: number
  /** If fewer tokens were granted than requested: when the next one is available. */
  readonly nextMs: number
}

export async function takeTokens(db: Queryable, limiter: number, wanted: number): Promise<Tokens> {
  const [row] = await rows<{ granted: number; nextMs: number }>(db, TAKE, [limiter, wanted])
  return row ?? { granted: wanted, nextMs: 0 }
}

const GIVE_BACK = statement(
  'give_back_tokens',
  `with hurried as materialized (
     select set_config('synchronous_commit', 'off', true)
   ), given as (
     update ledger.limiter set tokens = tokens + $2::integer
     from hurried where id = $1::integer
   )
   select 1 from hurried`,
)

/**
 * Returns tokens for which no job was found. Those above the burst are dropped at the next take.
 */
export async function giveBackTokens(db: Queryable, limiter: number, count: number): Promise<void> {
  await change(db, GIVE_BACK, [limiter, count])
}
