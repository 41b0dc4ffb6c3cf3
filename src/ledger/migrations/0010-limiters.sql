-- oldest binary: 1
-- Circuits and rates of subscribers. Older binaries that run beside new ones know neither: they go on to run the jobs of
-- a subscriber whose circuit is open, and do not take from its rate.

-- What limits the runs of one subscriber, or of several that name the same limiter. Written when a circuit changes its
-- state and when a claim takes from a rate; not for each job.
create table ledger.limiter (
  id integer generated always as identity primary key,
  name text not null unique,
  has_circuit boolean not null,
  state text not null default 'closed' check (state in ('closed', 'open', 'half-open')),
  -- When the circuit closed, or left that state.
  since timestamptz not null default now(),
  -- Why it is not closed: the failure that opened it, or that of the last probe.
  reason text,
  -- Raised at each change of the circuit; a change that knows an older one is refused.
  generation integer not null default 0,
  failed_probes integer not null default 0,
  -- Probes that succeeded in a row.
  passed_probes integer not null default 0,
  -- Open: no probe before this time.
  probe_at timestamptz,
  -- Half-open: the worker that runs the probe, and when the probe is given up.
  prober integer,
  probe_until timestamptz,
  -- The rate, null without one: a bucket of tokens, one for each run.
  per_second float8,
  burst float8,
  tokens float8,
  refilled_at timestamptz not null default now()
) with (fillfactor = 50);

alter table ledger.subscriber add column limiter integer;
-- Since when the circuit of its limiter is not closed: its jobs are not claimed. Beside paused_at, so that a claim reads
-- no other table for it.
alter table ledger.subscriber add column held_at timestamptz;
create index subscriber_limiter on ledger.subscriber (limiter);
