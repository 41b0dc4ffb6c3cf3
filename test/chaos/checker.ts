import type { Senders } from './senders.ts'
import type { World } from './world.ts'

/*
 * Reads what is left when everything is healed and at rest, and says what is wrong. It trusts
 * nothing but the rows, the other side's record of calls, and the senders' record of answers.
 */
export async function faultsIn(
  world: World,
  { acknowledged, sent }: Pick<Senders, 'acknowledged' | 'sent'>,
): Promise<string[]> {
  const checks = await Promise.all([
    lost(world, acknowledged),
    unfinished(world),
    exactlyOnce(world, 'written'),
    exactlyOnce(world, 'transacted'),
    exactlyOnce(world, 'sequence'),
    stale(world, sent, acknowledged),
    outOfOrder(world),
  ])
  return [...checks.flat(), ...calls(world, acknowledged)]
}

const FEW = 5

function some(what: string, found: readonly string[]): string[] {
  if (found.length === 0) return []
  const more = found.length > FEW ? ` and ${found.length - FEW} more` : ''
  return [`${what}: ${found.slice(0, FEW).join(', ')}${more}`]
}

async function texts({ pool }: World, query: string): Promise<string[]> {
  const { rows } = await pool.query<{ text: string }>(query)
  return rows.map(({ text }) => text)
}

async function lost(world: World, acknowledged: ReadonlySet<string>): Promise<string[]> {
  const known = new Set(await texts(world, 'select event_key as text from hookonce.receipt'))
  return some(
    'acknowledged, and not recorded',
    [...acknowledged].filter((id) => !known.has(id)),
  )
}

async function unfinished(world: World): Promise<string[]> {
  const found = await texts(
    world,
    `select r.event_key || ' of ' || s.name || ' is ' || j.state || coalesce(': ' || j.reason, '') as text
     from hookonce.job j join hookonce.receipt r on r.shard = j.shard and r.id = j.receipt_id
     join hookonce.subscriber s on s.id = j.subscriber where j.state <> 'processed'`,
  )
  return some('jobs did not come to their good end', found)
}

async function exactlyOnce(world: World, table: 'written' | 'transacted' | 'sequence'): Promise<string[]> {
  const found = await texts(
    world,
    `select r.event_key || ' ' || count(t.event) || ' times' as text
     from hookonce.receipt r left join ${table} t on t.event = r.event_key
     group by r.event_key having count(t.event) <> 1`,
  )
  return some(`not exactly once in "${table}"`, found)
}

/** Versions never fall, and the newest that was acknowledged is there. */
async function stale(
  world: World,
  sent: readonly { readonly id: string; readonly entity: string; readonly version: number }[],
  acknowledged: ReadonlySet<string>,
): Promise<string[]> {
  const fell = await texts(
    world,
    `select entity || ' from ' || before || ' to ' || version as text
     from (select entity, version, lag(version) over (partition by entity order by at) as before from version) v
     where version <= before`,
  )
  const { rows } = await world.pool.query<{ entity: string; version: number }>(
    'select entity, max(version) as version from version group by entity',
  )
  const last = new Map(rows.map(({ entity, version }) => [entity, version]))
  const missing = sent.filter(
    ({ id, entity, version }) => acknowledged.has(id) && version > (last.get(entity) ?? 0),
  )
  return [
    ...some('a version fell', fell),
    ...some(
      'the newest version is missing',
      missing.map(({ entity, version }) => `${entity} ${version}`),
    ),
  ]
}

/** Events of one entity took effect in the order in which they were recorded. */
async function outOfOrder(world: World): Promise<string[]> {
  const found = await texts(
    world,
    `select entity || ': ' || event || ' too late' as text from (
       select q.entity, q.event, j.lane_seq as place,
         max(j.lane_seq) over (partition by q.entity order by q.at rows between unbounded preceding and 1 preceding) as before
       from sequence q
       join hookonce.receipt r on r.event_key = q.event
       join hookonce.subscriber s on s.name = 'ordered'
       join hookonce.job j on j.shard = r.shard and j.receipt_id = r.id and j.subscriber = s.id
     ) o where place < before`,
  )
  return some('out of order', found)
}

/** The other side acted once on each event, and a call that was repeated had the same key. */
function calls({ downstream }: World, acknowledged: ReadonlySet<string>): string[] {
  const acted = new Map<string, number>()
  const keys = new Map<string, Set<string>>()
  for (const call of downstream.calls) {
    acted.set(call.path, (acted.get(call.path) ?? 0) + Number(call.acted))
    keys.set(call.path, (keys.get(call.path) ?? new Set()).add(call.key))
  }
  const wrong = (kind: string): string[] =>
    [...acknowledged]
      .filter((id) => acted.get(`/${kind}/${id}`) !== 1)
      .map((id) => `${id} ${acted.get(`/${kind}/${id}`) ?? 0} times`)
  const manyKeys = [...keys].filter(([path, used]) => !path.startsWith('/once/') && used.size > 1)
  return [
    ...some('not exactly once under a key', wrong('keyed')),
    ...some('not exactly once, at most once', wrong('once')),
    ...some('not exactly one message', wrong('told')),
    ...some(
      'called with more than one key',
      manyKeys.map(([path]) => path),
    ),
  ]
}
