// SQL that adds one batch of receipts with all their rows. Each value follows from the seed and the
// number of the receipt, so the same seed makes the same ledger.
import { AGE_DAYS, INCIDENTS } from './times.mjs'

/** SQL for the hashes of the engine, so that lookups by key and by id find the rows. */
const prefixed = (text) => `int4send(octet_length(${text})) || convert_to(${text}, 'UTF8')`
const uuidOf = (bytes) => `encode(substr(sha256(${bytes}), 1, 16), 'hex')::uuid`
const counted = (...texts) =>
  `convert_to(${texts.map((text) => `octet_length(${text}) || ':' || ${text}`).join(' || ')}, 'UTF8')`
export const SCOPED_ID = (...texts) => uuidOf(texts.map(prefixed).join(' || '))
export const SHARD = (id) => `get_byte(uuid_send(${id}), 0) % 16`
export const DOWNSTREAM_KEY = (key) =>
  `left(encode(sha256(${counted(`'hookonce'`, `'default'`, key, `'1'`)}), 'hex'), 40)`

export const SCRATCH = `
  create temp table seed_kind (slot integer primary key, source text, type text, event_prefix text, object_prefix text,
    body text, headers text, subscribers text[]);
  create temp table seed_error (subscriber text, place integer, places integer, text text, stack text, is_final boolean);
  create temp table seed_event (n integer, x float8, r bytea, h text, o text, number text, id uuid,
    at timestamptz, slot integer, source text, key text, type text, object text, subscribers text[]);
  create temp table seed_job (n integer, r bytea, o text, id uuid, shard smallint, at timestamptz, type text, object text,
    name text, subscriber integer, state hookonce.job_state, attempts smallint, first_at timestamptz,
    started_at timestamptz, finished_at timestamptz, reason text, error text, stack text)`

/* Names after a colon are values: see `run` in seed.mjs. */
const EVENTS = `insert into seed_event
  select n, x, r, h, o, number, ${SCOPED_ID(`'default'`, 'source', 'key')}, at, slot, source, key, type, object, subscribers
  from (
    select n, x, r, h, o, number, slot, source, type, subscribers,
      :now::timestamptz - ${AGE_DAYS('x', 'get_byte(r, 15) / 255.0')} * interval '1 day' as at,
      case event_prefix when '' then h::uuid::text else event_prefix || substr(h, 1, 22) end as key,
      case when object_prefix = '' then o || substr(h, 1, 8)
        when object_prefix ~ '^[0-9]' then object_prefix || number
        else object_prefix || substr(o, 1, 20) end as object
    from (
      select n, (n + 0.5) / :receipts::float8 as x, h, decode(h, 'hex') as r, o,
        lpad((('x' || substr(o, 1, 7))::bit(28)::integer % 1000000)::text, 6, '0') as number
      from (
        select n, md5(:seed::text || ':' || n) as h, md5(:seed::text || ':object:' || n / 3) as o
        from generate_series(:first::integer, :last::integer) n
      ) hashed
    ) placed
    join seed_kind k on k.slot = (get_byte(r, 0) * 256 + get_byte(r, 1)) % (select count(*) from seed_kind)
  ) named`

const filled = (template) => `replace(replace(replace(replace(replace(replace(replace(replace(${template},
    '{key}', key), '{object}', object), '{type}', e.type), '{number}', number), '{hash}', h || o),
    '{event}', split_part(e.type, '.', 1)), '{seconds}', extract(epoch from at)::bigint::text),
    '{iso}', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))`

const RECEIPTS = `insert into hookonce.receipt
    (shard, id, received_at, occurred_at, secret, tenant, source, event_key, event_type, object_id, headers, body)
  select ${SHARD('id')}, id, at, at - (1 + get_byte(r, 2) % 3) * interval '1 second', 1 + (get_byte(r, 2) = 7)::integer,
    'default', e.source, key, e.type, object, ${filled('k.headers')}, convert_to(${filled('k.body')}, 'UTF8')
  from seed_event e join seed_kind k using (slot)
  order by 1, 2`

const inTrouble = INCIDENTS.map(
  ({ from, to, subscribers }) =>
    `(x between ${from} and ${to} and s.name in (${subscribers.map((name) => `'${name}'`).join(', ')}))`,
).join(' or ')

/** The time from the first attempt to this one: each delay is twice as long as the previous one. */
const PAUSE = (attempt) => `15 * (power(2, ${attempt} - 1) - 1) * interval '1 second'`

/* The newest receipts are still in progress. A failed job has used up its attempts. */
const JOBS = `insert into seed_job
  select n, r, o, id, ${SHARD('id')}, at, type, object, name, subscriber, state, attempts, first_at, started_at,
    case when state in ('processed', 'failed')
      then least(started_at + (15 + luck * 3 + get_byte(r, 12)) * interval '1 millisecond', :now::timestamptz) end,
    case when state = 'retrying' then error
      when state = 'failed' and is_final then 'permanent: ' || error
      when state = 'failed' then 'gave up after ' || attempts || ' attempts: ' || error end,
    error, stack
  from (
    select *, least(first_at + ${PAUSE('greatest(attempts, 1)')}, :now::timestamptz) as started_at
    from (
    select j.*, case when e.is_final and state <> 'failed' then 'Error: connect ETIMEDOUT 10.0.4.21:443'
        else replace(e.text, '{id}', substr(o, 1, 10)) end as error, e.is_final,
      case when not e.is_final or state = 'failed' then e.stack end as stack,
      (case when state = 'failed' then case when e.is_final then 1 else 5 + luck % 3 end
        when state = 'retrying' then 1 + luck % 3
        when state = 'received' then 0
        else 1 + (luck % 32 = 1)::integer end)::smallint as attempts,
      at + (2 + luck % 20) * interval '1 millisecond' as first_at
    from (
      select e.*, s.name, s.id as subscriber, luck,
        (case
          when n >= :receipts::integer - greatest(12, :receipts::integer / 5000) and luck < 150 then
            case when luck < 60 then 'received' when luck < 90 then 'processing' else 'retrying' end
          when (${inTrouble}) and luck < 150 then 'failed'
          when luck = 0 and get_byte(r, 9) < 96 and s.name not in ('ci', 'support-bot') then 'failed'
          else 'processed' end)::hookonce.job_state as state
      from seed_event e
      cross join lateral unnest(e.subscribers) with ordinality wanted(name, place)
      join hookonce.subscriber s on s.tenant = 'default' and s.source = e.source and s.name = wanted.name
      cross join lateral (select get_byte(r, 4 + place::integer) as luck) l
    ) j
    join seed_error e on e.subscriber = j.name and e.place = get_byte(r, 10) % e.places
    ) begun
  ) decided`

const JOB_ROWS = `insert into hookonce.job
    (shard, receipt_id, subscriber, state, fence, attempt, born_at, due_at, started_at, finished_at, worker, reason, last_step)
  select shard, id, subscriber, state, attempts, attempts, at,
    case when state = 'retrying' then :now::timestamptz + (30 + get_byte(r, 12)) * interval '1 second' else at end,
    case when attempts > 0 then started_at end, finished_at,
    case when state = 'processing' then (select max(id) from hookonce.worker) end, reason,
    case when ${hasEffects()} then '(write, publish)' end
  from seed_job
  order by 1, 2`

/* Attempts that did not succeed. The last attempt of other jobs is in the row of the job. */
const ATTEMPTS = `insert into hookonce.attempt (shard, receipt_id, subscriber, fence, number, started_at, ended_at, outcome, error, stack)
  select shard, id, subscriber, number, number,
    least(first_at + ${PAUSE('number')}, :now::timestamptz),
    least(first_at + ${PAUSE('number')} + (15 + get_byte(r, 12) * 3) * interval '1 millisecond', :now::timestamptz),
    case when number = attempts and state = 'failed' then 'failed' else 'retrying' end, error, stack
  from seed_job
  cross join lateral generate_series(1, attempts - (state in ('processed', 'processing'))::integer) number
  where state in ('failed', 'retrying') or attempts > 1`

const DUPLICATES = `insert into hookonce.duplicate (shard, receipt_id, count, mismatches, first_at, last_at)
  select ${SHARD('id')}, id, 1 + get_byte(r, 13) % 3, (get_byte(r, 13) = 200)::integer,
    at + interval '4 seconds', least(at + (5 + get_byte(r, 14)) * interval '1 second', :now::timestamptz)
  from seed_event where get_byte(r, 3) < 20`

/** Some invoices have an entry in the books, a mail and a message. */
function hasEffects() {
  return `(name = 'billing' and type = 'invoice.paid' and state = 'processed' and get_byte(r, 11) < 64)`
}

const EFFECTS = `insert into hookonce.effect
    (shard, id, started_at, ended_at, receipt_id, subscriber, fence, epoch, state, mode, tenant, key, downstream_key, result)
  select ${SHARD('effect_id')}, effect_id, started_at + delay, started_at + delay + took, id, subscriber, attempts, 1, 'done', mode,
    'default', key, ${DOWNSTREAM_KEY('key')}, result::jsonb
  from seed_job
  cross join lateral (values
    ('books:' || object, 'tx', interval '2 milliseconds', interval '3 milliseconds', null),
    ('receipt-mail:' || object, 'keyed', interval '6 milliseconds', get_byte(r, 12) * interval '1 millisecond',
      '{"id":"msg_' || substr(o, 1, 16) || '","accepted":["customer@shop.example"]}')
  ) made(key, mode, delay, took, result)
  cross join lateral (select ${SCOPED_ID(`'default'`, 'key')} as effect_id) e
  where ${hasEffects()}
  on conflict do nothing`

const STEPS = `insert into hookonce.step (shard, receipt_id, at, subscriber, fence, name, result)
  select shard, id, started_at + interval '4 milliseconds', subscriber, attempts, 'load-customer', '{"locale":"nl"}'
  from seed_job where ${hasEffects()}`

const MESSAGES = `insert into hookonce.outbox
    (shard, id, lane, receipt_id, created_at, born_at, finished_at, seq, subscriber, state, attempts, tenant, topic, key, payload)
  select ${SHARD('lane')}, ${uuidOf(counted(`'message'`, 'id::text', 'name', `'(write)'`, `'0'`, `'0'`))}, lane, id,
    finished_at, finished_at, finished_at + interval '30 milliseconds', n, subscriber, 'published', 1, 'default', 'invoice.paid',
    object, json_build_object('invoice', object, 'amount', 12900, 'currency', 'eur')
  from seed_job
  cross join lateral (select ${uuidOf(counted(`'lane'`, `'default'`, `'invoice.paid'`, 'object'))} as lane) l
  where ${hasEffects()}`

/** The statements of a batch, in this order. */
export const BATCH = [
  'truncate seed_event, seed_job',
  EVENTS,
  RECEIPTS,
  JOBS,
  JOB_ROWS,
  ATTEMPTS,
  DUPLICATES,
  EFFECTS,
  STEPS,
  MESSAGES,
]
