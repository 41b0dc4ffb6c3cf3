import { AGES } from './ledger-clock.ts'
import { SUBSCRIBERS } from './person.ts'

/*
 * The rules that must hold when everything is healed and at rest, in SQL over the ledger, the
 * tables of the handlers and the schema `history`. Each query returns its violations: the event and
 * a text. Only rows and the records of the witnesses are trusted.
 */
export interface Check {
  /** The violated rule, if the query returns rows. */
  readonly fault: string
  readonly query: string
  /** The rule also holds for events that the ledger may have forgotten. */
  readonly holdsForForgotten?: boolean
}

/** The violations of a rule, without those of events for which it does not hold. */
export function violationsOf({ query, holdsForForgotten = false }: Check): string {
  const violations = `select event, text from (${query}) v`
  return holdsForForgotten
    ? violations
    : `${violations} where not exists (select from history.forgotten o where o.event = v.event)`
}

const wasAcknowledged = 'd.status between 200 and 299'
/**
 * The event was sent before the old primary died, and answered when the standby no longer received
 * anything.
 */
const mayBeLost = `exists (select from history.loss l where d.sent_ms <= l.to_ms and d.answered_ms >= l.from_ms)`
/** A call is made within a lease after its record, even on a busy machine. */
const CALL_MS = 3_000
/** The called service was called by a run whose record the standby may have missed. */
const hasLostCall = `exists (select from history.call c, history.loss l
  where c.event = k.event and c.at_ms between l.from_ms and l.to_ms + ${CALL_MS})`

/** Once, and once more per fresh replay. */
function rowsOf(table: string, subscriber: string): Check {
  return {
    fault: `not exactly once in "${table}"`,
    query: `select j.event, count(t.event) || ' rows instead of ' || 1 + j.epoch as text
      from history.job j left join ${table} t on t.event = j.event
      where j.subscriber = '${subscriber}' group by j.event, j.epoch
      having count(t.event) <> 1 + j.epoch`,
  }
}

function withoutReceipt(table: string): Check {
  return {
    fault: `in "${table}" without a receipt`,
    query: `select t.event, 'no receipt' as text from ${table} t left join history.known k using (event)
      where k.event is null`,
  }
}

/**
 * The called service acted once, and once more per fresh replay. A failover that loses a fresh
 * replay does not undo its calls.
 */
function actedOn(kind: string, subscriber: string): Check {
  return {
    fault: `the other side did not act exactly once: "${kind}"`,
    query: `select k.event, acted || ' times instead of ' || least as text
      from (
        select j.event, 1 + j.epoch as least, count(c.event) filter (where c.acted) as acted,
          (select count(*) from history.act a where a.event = j.event and a.verb = 'fresh'
             and a.subscriber = '${subscriber}' and exists (select from history.loss)) as lost
        from history.job j left join history.call c on c.event = j.event and c.kind = '${kind}'
        where j.subscriber = '${subscriber}' group by j.event, j.epoch
      ) k where acted < least or (acted > least + lost and not ${hasLostCall})`,
  }
}

function keysOf(kind: string, subscriber: string): Check {
  return {
    fault: `called with more than one key: "${kind}"`,
    query: `select k.event, k.keys || ' keys' as text
      from (
        select j.event, 1 + j.epoch as most, count(distinct c.key) as keys,
          (select count(*) from history.act a where a.event = j.event and a.verb = 'fresh'
             and a.subscriber = '${subscriber}' and exists (select from history.loss)) as lost
        from history.job j join history.call c on c.event = j.event and c.kind = '${kind}'
        where j.subscriber = '${subscriber}' group by j.event, j.epoch
      ) k where keys > most + lost and not ${hasLostCall}`,
  }
}

const TABLES = ['written', 'transacted', 'renamed', 'sequence'] as const

/** At least one row for an acknowledged event, and at most one more for each time its key expired. */
function rowsOfAged(table: string, subscriber: string): Check {
  return {
    fault: `not once for each life of its key in "${table}"`,
    holdsForForgotten: true,
    query: `select a.event, n.rows || ' rows, its key expired ' || a.expiries || ' times' as text
      from history.aged a
      cross join lateral (select count(*) as rows from ${table} t where t.event = a.event) n
      cross join lateral (
        select count(*) filter (where c.verb = 'fresh' and c.subscriber = '${subscriber}') as fresh,
          count(*) filter (where c.verb = 'abandon') as abandoned
        from history.act c where c.event = a.event) c
      where n.rows > 1 + a.expiries + c.fresh or (n.rows = 0 and c.abandoned = 0 and exists (
        select from history.delivery d where d.event = a.event and ${wasAcknowledged} and not ${mayBeLost}))`,
  }
}

export const CHECKS: readonly Check[] = [
  {
    fault: 'acknowledged, and not recorded',
    query: `select d.event, 'answered ' || max(d.status) || ' at ' || max(d.answered_ms) || ' ms' as text
      from history.delivery d left join history.known k using (event)
      where ${wasAcknowledged} and k.event is null and not ${mayBeLost} group by d.event`,
  },
  {
    fault: 'recorded as new more than once',
    query: `select d.event, count(*) || ' times' as text from history.delivery d
      where d.status = 202 and not ${mayBeLost} group by d.event having count(*) > 1`,
  },
  {
    fault: 'recorded as new, although it was acknowledged before',
    query: `select d.event, 'answered 202 at ' || d.answered_ms || ' ms, acknowledged at ' || a.at_ms || ' ms' as text
      from history.delivery d join (
        select event, min(answered_ms) as at_ms from history.delivery d
        where ${wasAcknowledged} and not ${mayBeLost} group by event
      ) a on a.event = d.event and a.at_ms < d.sent_ms where d.status = 202`,
  },
  {
    fault: 'recorded as new more often than its key expired',
    holdsForForgotten: true,
    query: `select a.event, count(*) || ' times, its key expired ' || a.expiries || ' times' as text
      from history.aged a join history.delivery d using (event)
      where d.status = 202 and not ${mayBeLost} group by a.event, a.expiries
      having count(*) > 1 + a.expiries`,
  },
  rowsOfAged('written', 'write'),
  rowsOfAged('transacted', 'transaction'),
  rowsOfAged('sequence', 'ordered'),
  {
    fault: 'a body is missing within its retention',
    query: `select k.event, 'received ' || r.received_at || ', now ' || now() as text
      from history.known k join hookonce.receipt r on r.id = k.id
      where r.body is null and r.received_at > now() - interval '${AGES.retention.bodyDays} days'`,
  },
  {
    fault: 'refused, although it was signed well',
    query: `select d.event, 'answered ' || d.status || ' at ' || d.answered_ms || ' ms' as text
      from history.delivery d where d.status between 400 and 499 and not exists (
        select from history.fault f where (f.name in ('daysPass', 'keysExpire') or (f.name = 'stepClock' and f.detail = d.app))
          and d.sent_ms <= f.to_ms and d.answered_ms >= f.from_ms)`,
  },
  {
    fault: 'a job is missing',
    query: `select k.event, count(j.event) || ' jobs' as text
      from history.known k left join history.job j on j.event = k.event
        and j.subscriber = any('{${SUBSCRIBERS.join(',')}}')
      group by k.event having count(j.event) <> ${SUBSCRIBERS.length}`,
  },
  {
    fault: 'jobs did not come to their good end',
    query: `select event, subscriber || ' is ' || state || coalesce(': ' || reason, '') as text
      from history.job where state <> 'processed'`,
  },
  {
    fault: 'messages were not published',
    query: `select k.event, o.topic || ' is ' || o.state as text
      from hookonce.outbox o left join history.known k on k.id = o.receipt_id where o.state <> 'published'`,
  },
  {
    fault: 'effects have no outcome',
    query: `select k.event, e.key || ' is ' || e.state as text
      from hookonce.effect e left join history.known k on k.id = e.receipt_id
      where e.state in ('started', 'unknown') and e.reopened_at is null
        -- The record of a call may be lost after its run has read it.
        and not exists (select from history.spanned p where p.event = k.event)`,
  },
  rowsOf('written', 'write'),
  rowsOf('transacted', 'transaction'),
  rowsOf('sequence', 'ordered'),
  {
    fault: 'not exactly once in "renamed"',
    query: `select k.event, count(t.event) || ' rows' as text
      from history.known k left join renamed t using (event) group by k.event
      having count(t.event) <> 1`,
  },
  ...TABLES.map(withoutReceipt),
  actedOn('keyed', 'write'),
  actedOn('told', 'write'),
  actedOn('once', 'transaction'),
  keysOf('keyed', 'write'),
  keysOf('told', 'write'),
  {
    fault: 'called more than once, at most once',
    query: `select k.event, k.calls || ' calls with one key' as text
      from (
        select c.event, count(*) as calls,
          (select count(*) from history.act a where a.event = c.event and a.verb = 'retry-same-key') as asked
        from history.call c where c.kind = 'once' group by c.event, c.key
      ) k where calls > 1 + asked and not ${hasLostCall}`,
  },
  {
    fault: 'a fresh replay was told to be done, and was not, or was done more often',
    query: `select j.event, j.subscriber || ' is in epoch ' || j.epoch || ', asked for ' || a.asked
        || ' times, told ' || a.told || ' times' as text
      from history.job j join lateral (
        select count(*) as asked, count(*) filter (where a.done and not exists (
          select from history.loss l where a.from_ms <= l.to_ms and a.to_ms >= l.from_ms)) as told
        from history.act a where a.event = j.event and a.subscriber = j.subscriber and a.verb = 'fresh'
      ) a on j.epoch not between a.told and a.asked
      where j.epoch > 0 or exists (select from history.act f where f.event = j.event and f.verb = 'fresh')`,
  },
  {
    fault: 'a version fell',
    query: `select v.event, v.entity || ' from ' || before || ' to ' || v.event as text
      from (
        select entity, event, lag(event) over (partition by entity order by at) as before from version
      ) v join history.job j on j.event = v.event and j.subscriber = 'latest'
      where v.event < before or (v.event = before and j.epoch = 0)`,
  },
  {
    fault: 'the newest version is missing',
    query: `select newest as event, entity || ' is at ' || coalesce(applied::text, 'none') as text
      from (select entity, max(event) as newest from sequence group by entity) q
      left join (select entity, max(event) as applied from version group by entity) v using (entity)
      where newest is distinct from applied`,
  },
  {
    // Only the first time counts: a fresh replay may come at any time.
    fault: 'out of order',
    query: `select event, entity || ': before its predecessor' as text
      from (
        select q.entity, q.event, j.lane_seq as place, max(j.lane_seq) over (
          partition by q.entity order by q.at rows between unbounded preceding and 1 preceding) as before
        from (select entity, event, min(at) as at from sequence group by entity, event) q
        join history.job j on j.event = q.event and j.subscriber = 'ordered'
        where not exists (select from history.forgotten o where o.event = q.event)
      ) o where place < before`,
  },
]

/** The acknowledged events that failovers to an asynchronous standby lost. */
export const LOST = `select count(distinct d.event)::integer as events
  from history.delivery d left join history.known k using (event)
  where ${wasAcknowledged} and k.event is null
    and not exists (select from history.forgotten o where o.event = d.event)`

/** How the deliveries were answered, and how long the faults took on average. */
export const COUNTS = `select 'answers: ' || (
    select string_agg(answer || ' ' || times, ', ' order by answer) from (
      select coalesce(status::text, 'none') as answer, count(*) as times from history.delivery group by status
    ) a
  ) || '; faults: ' || (
    select string_agg(times || ' ' || name || ' of ' || ms || ' ms', ', ' order by name) from (
      select name, count(*) as times, round(avg(to_ms - from_ms)) as ms from history.fault
      where not loss group by name
    ) f
  ) as text`
