// SQL for the rows that a seeded ledger holds besides its events. :now is the present time.
import { DOWNSTREAM_KEY, SCOPED_ID, SHARD } from './batch.mjs'

const ago = (interval) => `:now::timestamptz - interval '${interval}'`

/**
 * Runs before the events, because jobs refer to a worker. The leases outlive every use of this
 * ledger.
 */
export const WORKERS = `insert into hookonce.worker (lease_until, started_at, host, pid, lease_ms, serves)
  select :now::timestamptz + interval '1 day', ${ago('3 days')} - n * interval '5 hours', 'worker-' || n, 4100 + n, 30000,
    (select array_agg(id) from hookonce.subscriber)
  from generate_series(1, 3) n`

/** The latest payouts: each was called, and its outcome is unknown. */
const ATTENTION = `with chosen as materialized (
    select j.shard, j.receipt_id, j.subscriber, j.fence, j.attempt, j.started_at, 'payout:' || r.object_id as key,
      ${SCOPED_ID(`'default'`, `'payout:' || r.object_id`)} as effect_id
    from hookonce.receipt r
    join hookonce.job j on j.shard = r.shard and j.receipt_id = r.id and j.state = 'processed'
    join hookonce.subscriber s on s.id = j.subscriber and s.name = 'billing'
    where r.event_type = 'payout.paid' order by r.received_at desc limit 5
  ), told as materialized (
    select *, 'effect "' || key || '": it was called, no reply was recorded, and its worker stopped' as reason
    from chosen where (select count(*) from chosen c where c.key = chosen.key) = 1
  ), jobs as (
    update hookonce.job j set state = 'attention', finished_at = t.started_at + interval '30 seconds', reason = t.reason
    from told t where j.shard = t.shard and j.receipt_id = t.receipt_id and j.subscriber = t.subscriber
  ), attempts as (
    insert into hookonce.attempt (shard, receipt_id, subscriber, fence, number, started_at, ended_at, outcome, error)
    select shard, receipt_id, subscriber, fence, attempt, started_at, started_at + interval '30 seconds', 'attention', reason
    from told
  ), waiting as (
    insert into hookonce.attention (shard, receipt_id, subscriber, effect_shard, effect_id)
    select shard, receipt_id, subscriber, ${SHARD('effect_id')}, effect_id from told
  )
  insert into hookonce.effect
    (shard, id, started_at, ended_at, receipt_id, subscriber, fence, epoch, state, mode, tenant, key, downstream_key, reason)
  select ${SHARD('effect_id')}, effect_id, started_at, started_at + interval '30 seconds', receipt_id, subscriber, fence, 1,
    'unknown', 'atMostOnce', 'default', key, ${DOWNSTREAM_KEY('key')}, 'it was called, no reply was recorded, and its worker stopped'
  from told`

/**
 * The newest messages wait, some because the broker refuses the first message of their lane. A few
 * failed.
 */
const OUTBOX = `with newest as materialized (
    select shard, id, lane, topic, seq, row_number() over (order by created_at desc) as place
    from hookonce.outbox order by created_at desc limit 14
  ), waiting as (
    update hookonce.outbox o set state = 'waiting', finished_at = null, attempts = 0
    from newest n where o.shard = n.shard and o.id = n.id and n.place <= 9
  ), failed as (
    update hookonce.outbox o set state = 'failed', attempts = 20,
      reason = 'gave up after 20 attempts: NATS: no response from stream (503)'
    from newest n where o.shard = n.shard and o.id = n.id and n.place > 9
  )
  insert into hookonce.outbox_lane (shard, id, topic, tail, due_at, attempt, reason)
  select shard, lane, min(topic), max(seq), :now::timestamptz + interval '40 seconds', min(case when place <= 3 then 3 else 0 end),
    min(case when place <= 3 then 'NATS: no response from stream (503)' end)
  from newest where place <= 9 group by shard, lane`

const REJECTIONS = `insert into hookonce.rejection (source, code, count, first_at, last_at, last_detail, diagnosis, header) values
    ('shopify', 'SIGNATURE_MISMATCH', 31, ${ago('3 hours')}, ${ago('4 minutes')}, 'no configured secret matches the signature',
      'the secret of the source "shopify-test" matches: this delivery is for that source', null),
    ('stripe', 'TIMESTAMP_TOO_OLD', 4, ${ago('6 days')}, ${ago('2 days')}, 'the timestamp is 2911 s old; 300 s are tolerated',
      'the signature is right; the timestamp is 2911 s old; 300 s are tolerated: the clock of this machine is fast, the delivery was delayed, or an old delivery was sent again', null),
    ('github', 'SIGNATURE_MISSING', 2, ${ago('9 days')}, ${ago('9 days')}, 'there is no header x-hub-signature-256',
      'the webhook at GitHub has no secret', 'x-hub-signature-256'),
    ('paypal', 'SOURCE_UNKNOWN', 17, ${ago('20 days')}, ${ago('1 hour')}, 'no source is named "paypal"', '', null)`

/** Actions of operators. The subjects are receipts and effects of this ledger. */
const AUDIT = `insert into hookonce.audit (at, actor, action, why, tenant, subject, detail, address)
  select :now::timestamptz - age, actor, action, why, 'default', coalesce(subject, ''), detail::jsonb, '10.0.0.7'
  from (
    select interval '8 days' as age, 'ann' as actor, 'pause' as action, 'the CRM moves to another region' as why,
      'stripe crm' as subject, '{}' as detail
    union all select interval '7 days 22 hours', 'ann', 'resume', 'the move is done', 'stripe crm', '{}'
    union all select interval '3 days', 'bob', 'create-token', 'for the status page', 'status-page', '{"role":"viewer"}'
    union all select n * interval '5 hours', 'ann', 'replay', 'the customer exists now', id::text, '{"jobs":1}'
    from (select receipt_id as id, row_number() over (order by started_at desc) as n from hookonce.effect
      where mode = 'keyed' order by started_at desc limit 6) r
    union all select interval '20 hours', 'bob', 'confirm-done', 'the bank shows the transfer', key, '{"jobs":1}'
    from (select key from hookonce.effect where mode = 'keyed' order by key limit 1) e
  ) entries order by age desc`

const REPLAYS = `insert into hookonce.bulk_replay
    (created_at, stepped_at, ended_at, per_second, state, name, actor, why, filter, position, expected, seen, replayed)
  values
    (${ago('9 days')}, ${ago('9 days')}, ${ago('9 days')} + interval '2 minutes', 20, 'done', 'after the CI outage', 'ann',
      'the runner is back', '{"state":"failed","source":"github"}', '{}', 812, 812, 811),
    (${ago('2 days')}, ${ago('2 days')}, ${ago('2 days')} + interval '20 seconds', 5, 'cancelled', 'crm, first try', 'bob',
      'the CRM answers again', '{"state":"failed","subscriber":"crm"}', '{}', 340, 97, 96)`

const TOKENS = `insert into hookonce.token (created_at, name, role, bodies, created_by, hash, used_at)
  select :now::timestamptz - n * interval '4 days', name, role, role <> 'viewer', 'bob', sha256(('seeded ' || name)::bytea),
    :now::timestamptz - n * interval '3 hours'
  from (values (1, 'status-page', 'viewer'), (2, 'on-call', 'operator'), (5, 'terraform', 'admin')) t(n, name, role)`

/** The circuit of one destination is open. */
const CIRCUIT = `with made as (
    insert into hookonce.limiter (name, has_circuit, state, since, reason, generation, failed_probes, probe_at)
    values ('crm', true, 'open', ${ago('25 minutes')},
      'answered 503: upstream connect error or disconnect/reset before headers', 3, 4, :now::timestamptz + interval '12 hours')
    returning id
  )
  update hookonce.subscriber s set limiter = made.id, held_at = ${ago('25 minutes')} from made where s.name = 'crm'`

const ALERTS = `insert into hookonce.alert
    (id, opened_at, last_seen_at, notified_at, rule, tenant, source, subscriber, says, announced)
  select md5(rule)::uuid, :now::timestamptz - age, :now::timestamptz, :now::timestamptz - age, rule, 'default', source, subscriber, says, true
  from (values
    ('circuit', interval '25 minutes', 'shopify', 'crm', 'its circuit is open: its jobs wait'),
    ('attention', interval '50 minutes', 'stripe', 'billing', '5 jobs wait for a decision: the outcome of an effect is unknown'),
    ('signatures', interval '2 hours', 'shopify', '', '31 of 122 deliveries in the last 15 minutes had a wrong signature'),
    ('silence', interval '40 minutes', 'slack', '', 'no delivery for 3 h; the longest gap of the last week was 35 min')
  ) a(rule, age, source, subscriber, says)`

/* The sizes of buckets in minutes, with the number of hours for which they are kept. */
const BUCKETS = `(values (1::smallint, 2), (10, 48), (60, 200)) z(size, hours)`
const BUCKET = (time) => `date_bin(z.size * interval '1 minute', ${time}, timestamptz '2000-01-01 00:00:00Z')`

/* Shares of small counts, so that their sum over many buckets is right. */
const SHARE = (count, one, of) =>
  `((${count}) * ${one} + extract(epoch from at)::bigint / 60 % ${of}) / ${of}`

/** Counts of deliveries. Accept latencies: most within 2.5 ms, some above 10 ms. */
const DELIVERY_COUNTS = `insert into hookonce.rollup (size, at, tenant, source, subscriber, received, duplicate, mismatch, rejected, unsigned, accept)
  select size, at, 'default', source, '', received, duplicate, mismatch, refused, refused,
    array[received * 22 / 100, received - received * 22 / 100 - received * 27 / 100 - slow, received * 20 / 100,
      received * 27 / 100 - received * 20 / 100, slow]
  from (
    select *, case when source = 'shopify' then ${SHARE('received', 1, 40)} else 0 end as refused, ${SHARE('received', 1, 70)} as slow
    from (
      select z.size, ${BUCKET('r.received_at')} as at, r.source, count(*) as received,
        coalesce(sum(d.count), 0) as duplicate, coalesce(sum(d.mismatches), 0) as mismatch
      from ${BUCKETS}
      join hookonce.receipt r on r.received_at > :now::timestamptz - z.hours * interval '1 hour'
      left join hookonce.duplicate d on d.shard = r.shard and d.receipt_id = r.id
      group by 1, 2, 3
    ) counted
  ) shared`

const JOB_COUNTS = `insert into hookonce.rollup (size, at, tenant, source, subscriber, processed, failed, attention, retrying, spared)
  select size, at, 'default', source, name, processed, failed, attention, retrying,
    case when name = 'billing' then ${SHARE('processed', 1, 40)} else 0 end
  from (
    select z.size, ${BUCKET('j.finished_at')} as at, s.source, s.name,
      count(*) filter (where j.state = 'processed') as processed, count(*) filter (where j.state = 'failed') as failed,
      count(*) filter (where j.state = 'attention') as attention, sum(greatest(j.attempt - 1, 0)) as retrying
    from ${BUCKETS}
    join hookonce.job j on j.finished_at > :now::timestamptz - z.hours * interval '1 hour'
    join hookonce.subscriber s on s.id = j.subscriber
    group by 1, 2, 3, 4
  ) counted`

/** The statements after the events, in this order. */
export const ONCE = [
  ATTENTION,
  OUTBOX,
  REJECTIONS,
  AUDIT,
  REPLAYS,
  TOKENS,
  CIRCUIT,
  ALERTS,
  DELIVERY_COUNTS,
  JOB_COUNTS,
]
