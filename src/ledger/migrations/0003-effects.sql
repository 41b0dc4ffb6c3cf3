-- oldest binary: 1
-- Work that happens once across jobs: effects by their business key, entities by their version.

-- Raised by a fresh replay, which gets new steps and idempotency keys.
alter table ledger.job add column epoch smallint not null default 0;

alter table ledger.step
  add column epoch smallint not null default 0,
  -- The hash of the input that the handler declared.
  add column input_hash bytea,
  drop constraint step_pkey,
  add primary key (shard, receipt_id, subscriber, epoch, name);

create type ledger.effect_state as enum ('started', 'done', 'failed', 'unknown');

-- One row per epoch of an effect. Only the latest epoch is valid. The id is a hash of tenant and
-- key, and the shard follows from the id. An effect belongs to no receipt, so that all events,
-- subscribers and replays of a tenant share it.
create table ledger.effect (
  id uuid not null,
  -- When the first call with the idempotency key of this epoch began.
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  -- A fresh replay sets it. The next run that requests the effect then begins a new epoch.
  reopened_at timestamptz,
  -- Only this run may record the outcome. Fence 0: no run may; the next run that requests the
  -- effect calls again with the same key.
  receipt_id uuid not null,
  subscriber integer not null,
  fence integer not null,
  shard smallint not null,
  epoch smallint not null,
  state ledger.effect_state not null,
  mode text not null,
  tenant text not null,
  key text not null,
  input_hash bytea,
  downstream_key text not null,
  result jsonb,
  reason text,
  primary key (shard, id, epoch)
) with (fillfactor = 80);

create index effect_receipt on ledger.effect (shard, receipt_id);
create index effect_unknown on ledger.effect (shard, subscriber) where state = 'unknown';

-- Jobs in the state `attention`, each with the effect whose outcome it waits for.
create table ledger.attention (
  receipt_id uuid not null,
  effect_id uuid not null,
  subscriber integer not null,
  shard smallint not null,
  effect_shard smallint not null,
  primary key (shard, receipt_id, subscriber)
);

create index attention_effect on ledger.attention (effect_id);

-- The last applied version of an entity. A deleted entity keeps its row, so that a late event
-- cannot create it again.
create table ledger.entity (
  id uuid not null,
  applied_at timestamptz not null default now(),
  shard smallint not null,
  deleted boolean not null,
  tenant text not null,
  name text not null,
  kind text not null,
  version text not null,
  primary key (shard, id)
) with (fillfactor = 80);

-- Decisions of operators: who, when, what, why.
create table ledger.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  why text not null,
  tenant text not null,
  -- The key of an effect, or the id of a receipt.
  subject text not null,
  detail jsonb not null
);

create index audit_subject on ledger.audit (subject);

-- The default search_path begins with "$user". A role with the name of this schema would therefore
-- find our tables before its own.
do $$
begin
  if current_user = 'hookonce' then
    execute format('alter role %I in database %I set search_path = public', current_user, current_database());
  end if;
end
$$;
