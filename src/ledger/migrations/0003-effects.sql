-- oldest binary: 1
-- What happens once beyond one job: effects by their business key, entities by their version.

-- Raised by a replay that asks for everything to happen anew: its steps and keys are then others.
alter table ledger.job add column epoch smallint not null default 0;

alter table ledger.step
  add column epoch smallint not null default 0,
  -- Of the input that the handler declared.
  add column input_hash bytea,
  drop constraint step_pkey,
  add primary key (shard, receipt_id, subscriber, epoch, name);

create type ledger.effect_state as enum ('started', 'done', 'failed', 'unknown');

-- One row an epoch of an effect, of which the latest counts. The id is a hash of tenant and key, the shard is the id's:
-- effects belong to no receipt, so that events, subscribers and replays meet here.
create table ledger.effect (
  id uuid not null,
  -- The first call under this epoch's key.
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  -- A replay asked for it anew: whoever asks next begins the next epoch.
  reopened_at timestamptz,
  -- The run that may tell its outcome. Fence 0: of no run, whoever asks next calls again with the same key.
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

-- Jobs in the state `attention`, each with the effect whose outcome it waits to hear.
create table ledger.attention (
  receipt_id uuid not null,
  effect_id uuid not null,
  subscriber integer not null,
  shard smallint not null,
  effect_shard smallint not null,
  primary key (shard, receipt_id, subscriber)
);

create index attention_effect on ledger.attention (effect_id);

-- The last version of an entity that was applied. A deleted entity stays here, so that late news cannot revive it.
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

-- Decisions of people: who, when, what, why.
create table ledger.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  why text not null,
  tenant text not null,
  -- An effect's key, or a receipt's id.
  subject text not null,
  detail jsonb not null
);

create index audit_subject on ledger.audit (subject);

-- A role of this schema's name would find our tables before its own, by the "$user" in the default search_path.
do $$
begin
  if current_user = 'hookonce' then
    execute format('alter role %I in database %I set search_path = public', current_user, current_database());
  end if;
end
$$;
