-- oldest binary: 1
-- Encrypted payloads. An older binary finds neither body nor headers of an encrypted event, as
-- after their retention, and fails the job. Deploy this version everywhere before you set a key.

-- The data keys of tenants, wrapped by a master key that is not in the database.
create table ledger.data_key (
  id integer generated always as identity primary key,
  created_at timestamptz not null default now(),
  forgotten_at timestamptz,
  tenant text not null,
  -- payload: encrypts headers and bodies. hash: the key of their hashes, which is kept longer.
  purpose text not null check (purpose in ('payload', 'hash')),
  -- The beginning of a hash of the master key that wraps this key.
  master text not null,
  -- Null: the key was forgotten, so payloads that it encrypted can never be read again.
  wrapped bytea
);

create unique index data_key_current on ledger.data_key (tenant, purpose) where wrapped is not null;

-- `sealed` holds the encrypted headers and body; the columns `headers` and `body` are then null. It
-- is not compressed, because encrypted bytes do not shrink. `body_sha256` is then always set: a
-- keyed hash of the body.
alter table ledger.receipt add column sealed bytea, add column data_key integer;
alter table ledger.receipt alter column sealed set storage external;
