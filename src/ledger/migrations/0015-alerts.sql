-- oldest binary: 1
-- Alerts: one row per case of a rule, which is opened, updated while it lasts, and resolved. An
-- older binary with a publisher for every topic would also publish alerts: configure alerts when
-- all processes are new.
create table ledger.alert (
  id uuid primary key,
  opened_at timestamptz not null,
  last_seen_at timestamptz not null,
  -- When the condition was first gone; null while it lasts.
  clear_since timestamptz,
  resolved_at timestamptz,
  -- When a message that the alert is open was last sent to the channels.
  notified_at timestamptz,
  muted_until timestamptz,
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledged_why text,
  -- How often the alert was opened. An alert that recurs within a window is opened again.
  times integer not null default 1,
  -- Whether its latest message reports it as open.
  announced boolean not null default false,
  rule text not null,
  tenant text not null,
  source text not null,
  -- Empty if the alert is about a source.
  subscriber text not null,
  says text not null
) with (fillfactor = 70);

create unique index alert_open on ledger.alert (rule, tenant, source, subscriber) where resolved_at is null;
create index alert_resolved on ledger.alert (resolved_at) where resolved_at is not null;
-- Resolved alerts whose channels have not been notified yet.
create index alert_untold on ledger.alert (id) where resolved_at is not null and announced;

-- One row. Evaluations take turns by locking it; `ran_at` enforces the interval between them.
create table ledger.alert_run (
  id smallint primary key check (id = 1),
  ran_at timestamptz not null,
  -- How many messages were sent since `hour_began_at`.
  hour_began_at timestamptz not null,
  sent integer not null
) with (fillfactor = 50);

insert into ledger.alert_run (id, ran_at, hour_began_at, sent) values (1, '-infinity', '-infinity', 0);
