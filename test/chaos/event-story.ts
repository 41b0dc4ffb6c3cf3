import type pg from 'pg'

/*
 * The minimal history of one event: its deliveries and their answers, the calls of its effects, the
 * actions of the operator on it, the faults at the same time, and its rows in the ledger.
 */
const TIMELINE = `
  with moments as (
    select sent_ms as from_ms, answered_ms as to_ms,
      'delivered to ' || app || coalesce(', answered ' || status, ', no answer') as text
    from history.delivery where event = $1
    union all
    select at_ms, at_ms, 'the other side was called: ' || kind || ' with key ' || left(key, 12)
      || case when acted then ', acted' else ', did not act' end || ', reply ' || reply
    from history.call where event = $1
    union all
    select from_ms, to_ms, 'the person: ' || verb || ' ' || subscriber
      || case when done then '' else ', failed or unknown' end
    from history.act where event = $1
  ), faults as (
    select from_ms, to_ms, 'fault: ' || name || ' ' || detail as text from history.fault f
    where exists (
      select from moments m where m.from_ms <= f.to_ms + ${500} and m.to_ms >= f.from_ms - ${500})
  )
  select from_ms as from, to_ms as to, text from (select * from moments union all select * from faults) all_of_it
  order by from_ms, to_ms limit 200`

const ROWS = [
  `select 'job of ' || s.name || ': ' || j.state || ', attempt ' || j.attempt || ', fence ' || j.fence
     || ', epoch ' || j.epoch || coalesce(', lane ' || j.lane_seq, '') || coalesce(', ' || j.reason, '') as text
   from history.known k join hookonce.job j on j.shard = k.shard and j.receipt_id = k.id
   join hookonce.subscriber s on s.id = j.subscriber where k.event = $1 order by s.name`,
  `select 'attempt of ' || s.name || ', fence ' || a.fence || ': ' || a.outcome || coalesce(', ' || a.error, '') as text
   from history.known k join hookonce.attempt a on a.shard = k.shard and a.receipt_id = k.id
   join hookonce.subscriber s on s.id = a.subscriber where k.event = $1 order by a.started_at limit 50`,
  `select 'step of ' || s.name || ', epoch ' || t.epoch || ', fence ' || t.fence || ': ' || t.name as text
   from history.known k join hookonce.step t on t.shard = k.shard and t.receipt_id = k.id
   join hookonce.subscriber s on s.id = t.subscriber where k.event = $1 order by t.at limit 50`,
  `select 'effect ' || e.key || ', epoch ' || e.epoch || ': ' || e.state || ', key ' || left(e.downstream_key, 12)
     || coalesce(', ' || e.reason, '') as text
   from hookonce.effect e where e.key in ('keyed:' || $1, 'once:' || $1, 'renamed:' || $1) order by e.key, e.epoch`,
  `select 'message ' || o.id || ': ' || o.state as text
   from history.known k join hookonce.outbox o on o.receipt_id = k.id where k.event = $1 order by o.seq`,
  ...['written', 'transacted', 'renamed', 'sequence', 'version'].map(
    (table) => `select '${table}: place ' || at as text from ${table} where event = $1 order by at`,
  ),
]

export async function storyOf(pool: pg.Pool, event: number): Promise<string> {
  const timeline = await pool.query<{ from: number; to: number; text: string }>(TIMELINE, [event])
  const lines = timeline.rows.map(({ from, to, text }) => `${from}–${to} ms: ${text}`)
  const known = await pool.query('select from history.known where event = $1', [event])
  lines.push(known.rowCount === 0 ? 'the ledger has no receipt' : 'the ledger has a receipt')
  for (const query of ROWS) {
    const { rows } = await pool.query<{ text: string }>(query, [event])
    lines.push(...rows.map(({ text }) => text))
  }
  return [`event ${event}`, ...lines].join('\n  ')
}
