-- oldest binary: 1
-- Counts of failed jobs, so that no page counts rows. A trigger notes each change, whichever binary
-- makes it, and upkeep adds the notes to the sums. A reader adds the remaining notes itself, so its
-- numbers are exact.

-- Failures are compared by this text: the first line of the reason, without the words that explain
-- why the failure was final.
create function ledger.failure_text(reason text) returns text language sql immutable parallel safe as $$
  select left(regexp_replace(split_part(coalesce(reason, ''), E'\n', 1),
    '^(permanent|gave up after [0-9.]+ (attempts|hours)): ', ''), 300)
$$;

-- The fingerprint of an error: 16 hexadecimal digits. Long words with a digit are usually ids, so
-- all of them count as the same word. A migration that changes one of these two functions must
-- count all failed jobs again, as 0017 does.
create function ledger.failure_fingerprint(error text) returns text language sql immutable parallel safe as $$
  select left(md5(regexp_replace(error, '(?=[\w-]*\d)[\w-]{8,}', '#', 'g')), 16)
$$;

-- Notes: a job entered `failed` or `attention` (change 1), or left it (change -1). The trigger only
-- inserts notes, so processes that fail jobs in any order never wait for each other.
create table ledger.failure_change (
  id bigint generated always as identity primary key,
  -- The time of the failure.
  at timestamptz not null,
  receipt_id uuid not null,
  subscriber integer not null,
  change smallint not null,
  state ledger.job_state not null,
  fingerprint text,
  error text
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create table ledger.failure_total (
  subscriber integer primary key,
  failed bigint not null,
  attention bigint not null,
  -- When the jobs of the subscriber were last counted one by one.
  recounted_at timestamptz not null
) with (fillfactor = 70);

-- Failed jobs with the same error.
create table ledger.failure_group (
  jobs bigint not null,
  -- When the error first and last occurred, including in jobs that were replayed since.
  first_at timestamptz not null,
  last_at timestamptz not null,
  subscriber integer not null,
  fingerprint text not null,
  -- The error of the latest failure.
  error text not null,
  -- The receipts of the latest failures, the latest first.
  receipts uuid[] not null,
  primary key (subscriber, fingerprint)
) with (fillfactor = 70);

create index failure_group_jobs on ledger.failure_group (subscriber, jobs);
create index failure_group_last on ledger.failure_group (subscriber, last_at);

-- The number of failed jobs in a group, by the hour of their failure.
create table ledger.failure_hour (
  at timestamptz not null,
  jobs bigint not null,
  subscriber integer not null,
  fingerprint text not null,
  primary key (subscriber, fingerprint, at)
) with (fillfactor = 70);

create index failure_hour_empty on ledger.failure_hour (subscriber) where jobs <= 0;

-- Runs with the rights of its owner, so a role that may change jobs needs no other rights.
create function ledger.note_failure() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  error text;
begin
  if tg_op <> 'INSERT' and old.state in ('failed', 'attention') then
    if old.state = 'failed' then
      error := ledger.failure_text(old.reason);
    end if;
    insert into ledger.failure_change (at, receipt_id, subscriber, change, state, fingerprint)
    values (coalesce(old.finished_at, old.born_at), old.receipt_id, old.subscriber, -1, old.state,
      ledger.failure_fingerprint(error));
  end if;
  if tg_op <> 'DELETE' and new.state in ('failed', 'attention') then
    error := null;
    if new.state = 'failed' then
      error := ledger.failure_text(new.reason);
    end if;
    insert into ledger.failure_change (at, receipt_id, subscriber, change, state, fingerprint, error)
    values (coalesce(new.finished_at, new.born_at), new.receipt_id, new.subscriber, 1, new.state,
      ledger.failure_fingerprint(error), error);
  end if;
  return null;
end
$$;

-- PostgreSQL checks the conditions without calling the function, so other changes of jobs cost
-- almost nothing.
create trigger job_failed_insert after insert on ledger.job for each row
  when (new.state in ('failed', 'attention')) execute function ledger.note_failure();
create trigger job_failed_update after update on ledger.job for each row
  when ((old.state in ('failed', 'attention') or new.state in ('failed', 'attention'))
    and (old.state, old.finished_at, old.reason) is distinct from (new.state, new.finished_at, new.reason))
  execute function ledger.note_failure();
create trigger job_failed_delete after delete on ledger.job for each row
  when (old.state in ('failed', 'attention')) execute function ledger.note_failure();
