-- oldest binary: 1
-- Counts of deliveries and attempts, in buckets of 1, 10 and 60 minutes, so that no page counts
-- rows. Older binaries do not add their counts.
create table ledger.rollup (
  -- The beginning of the bucket.
  at timestamptz not null,
  received bigint not null default 0,
  duplicate bigint not null default 0,
  mismatch bigint not null default 0,
  unwanted bigint not null default 0,
  rejected bigint not null default 0,
  -- How many rejected deliveries had a wrong, outdated or missing signature.
  unsigned bigint not null default 0,
  processed bigint not null default 0,
  stale bigint not null default 0,
  retrying bigint not null default 0,
  failed bigint not null default 0,
  attention bigint not null default 0,
  -- Effects that had already happened, so they were not repeated.
  spared bigint not null default 0,
  -- Accept latencies, in the buckets of the metric hookonce_accept_seconds. The last bucket counts
  -- all longer latencies.
  accept bigint[] not null default '{}',
  -- The length of the bucket in minutes.
  size smallint not null,
  -- Empty for deliveries to sources that do not exist.
  tenant text not null,
  source text not null,
  -- Empty for counts of deliveries, which belong to no subscriber.
  subscriber text not null,
  primary key (size, tenant, source, subscriber, at)
) with (fillfactor = 70);

create index rollup_at on ledger.rollup (size, at);
