-- oldest binary: 1
-- Counts of failed jobs, so that no page counts rows. A trigger notes each change, whichever binary makes it; upkeep adds
-- the notes up. A reader adds the notes that are left to the sums, so its numbers are exact.

-- How failures are compared: by the first line of the reason, without the words that say why it was final.
create function ledger.failure_text(reason text) returns text language sql immutable parallel safe as $$
  select left(regexp_replace(split_part(coalesce(reason, ''), E'\n', 1),
    '^(permanent|gave up after [0-9.]+ (attempts|hours)): ', ''), 300)
$$;

-- Long words with a digit are ids of the case, so they count as the same word. 16 hexadecimal digits. A migration that
-- changes one of these two functions must count all failed jobs again, as 0017 does.
create function ledger.failure_fingerprint(error text) returns text language sql immutable parallel safe as $$
  select left(md5(regexp_replace(error, '(?=[\w-]*\d)[\w-]{8,}', '#', 'g')), 16)
$$;

-- Notes: a job came into `failed` or `attention` (1), or left it (-1). Only added to, so that no two processes wait for
-- each other, in whatever order they fail their jobs.
create table ledger.failure_change (
  id bigint generated always as identity primary key,
  -- Of the failure.
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
  -- When its jobs were last counted one by one.
  recounted_at timestamptz not null
) with (fillfactor = 70);

-- Failed jobs with the same error.
create table ledger.failure_group (
  jobs bigint not null,
  -- When the error was first and last seen, also in jobs that were replayed since.
  first_at timestamptz not null,
  last_at timestamptz not null,
  subscriber integer not null,
  fingerprint text not null,
  -- Of the latest failure.
  error text not null,
  -- Of the latest failures, the latest first.
  receipts uuid[] not null,
  primary key (subscriber, fingerprint)
) with (fillfactor = 70);

create index failure_group_jobs on ledger.failure_group (subscriber, jobs);
create index failure_group_last on ledger.failure_group (subscriber, last_at);

-- The failed jobs of a group, by the hour of their failure.
create table ledger.failure_hour (
  at timestamptz not null,
  jobs bigint not null,
  subscriber integer not null,
  fingerprint text not null,
  primary key (subscriber, fingerprint, at)
) with (fillfactor = 70);

create index failure_hour_empty on ledger.failure_hour (subscriber) where jobs <= 0;

-- With the rights of its owner: a role that may change jobs needs no further ones.
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

-- The conditions are checked without a call of the function: all other changes of jobs cost next to nothing.
create trigger job_failed_insert after insert on ledger.job for each row
  when (new.state in ('failed', 'attention')) execute function ledger.note_failure();
create trigger job_failed_update after update on ledger.job for each row
  when ((old.state in ('failed', 'attention') or new.state in ('failed', 'attention'))
    and (old.state, old.finished_at, old.reason) is distinct from (new.state, new.finished_at, new.reason))
  execute function ledger.note_failure();
create trigger job_failed_delete after delete on ledger.job for each row
  when (old.state in ('failed', 'attention')) execute function ledger.note_failure();
