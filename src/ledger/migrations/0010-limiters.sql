-- oldest binary: 1
-- Circuits and rates of subscribers. Older binaries ignore both: they run the jobs of a subscriber
-- whose circuit is open, and take no tokens.

-- Limits the runs of one subscriber, or of several that name the same limiter. A row is written
-- when a circuit changes its state and when a claim takes tokens, not for each job.
create table ledger.limiter (
  id integer generated always as identity primary key,
  name text not null unique,
  has_circuit boolean not null,
  state text not null default 'closed' check (state in ('closed', 'open', 'half-open')),
  -- When the circuit last closed, or stopped being closed.
  since timestamptz not null default now(),
  -- Why the circuit is not closed: the failure that opened it, or the failure of the last probe.
  reason text,
  -- Raised at each change of the circuit. A change that is based on an older generation is
  -- rejected.
  generation integer not null default 0,
  failed_probes integer not null default 0,
  -- The number of successful probes in a row.
  passed_probes integer not null default 0,
  -- Open: no probe before this time.
  probe_at timestamptz,
  -- Half-open: the worker that runs the probe, and when the probe is given up.
  prober integer,
  probe_until timestamptz,
  -- The rate: a bucket of tokens, one for each run. Null: no rate.
  per_second float8,
  burst float8,
  tokens float8,
  refilled_at timestamptz not null default now()
) with (fillfactor = 50);

alter table ledger.subscriber add column limiter integer;
-- Since when the circuit of the limiter is not closed. Until it closes, the jobs of the subscriber
-- are not claimed. The column is beside paused_at, so that a claim reads no other table.
alter table ledger.subscriber add column held_at timestamptz;
create index subscriber_limiter on ledger.subscriber (limiter);
