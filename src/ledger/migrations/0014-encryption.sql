-- oldest binary: 1
-- Encrypted payloads. An older binary never sees an encrypted payload: it finds neither body nor headers, as after their
-- retention, and fails the job. So deploy this version everywhere before you give it a key.

-- A tenant's keys, wrapped by a master key that is not in the database.
create table ledger.data_key (
  id integer generated always as identity primary key,
  created_at timestamptz not null default now(),
  forgotten_at timestamptz,
  tenant text not null,
  -- payload: encrypts headers and bodies. hash: the key of their hashes, which outlives the other.
  purpose text not null check (purpose in ('payload', 'hash')),
  -- Which master key wraps it: the beginning of a hash of that key.
  master text not null,
  -- Null: forgotten. What it encrypted cannot be read again.
  wrapped bytea
);

create unique index data_key_current on ledger.data_key (tenant, purpose) where wrapped is not null;

-- Headers and body, encrypted; the columns headers and body are null then. It is random to the eye: not compressed.
-- body_sha256 is then a keyed hash of the body, also while the payload is there.
alter table ledger.receipt add column sealed bytea, add column data_key integer;
alter table ledger.receipt alter column sealed set storage external;
