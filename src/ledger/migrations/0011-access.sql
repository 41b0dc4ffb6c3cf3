-- oldest binary: 1
-- Access to the admin API. Tokens and sessions are kept as hashes: who reads this table can use none of them.

create table ledger.token (
  id uuid primary key default gen_random_uuid(),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- To the minute.
  used_at timestamptz,
  name text not null,
  role text not null,
  -- Null: every tenant.
  tenant text,
  -- Whether it may read bodies, headers and payloads.
  bodies boolean not null,
  created_by text not null,
  -- SHA-256 of 256 random bits.
  hash bytea not null unique
);

-- Two live tokens of one name could not be told apart in the audit.
create unique index token_name on ledger.token (name) where revoked_at is null;

-- Of browsers. Few: one for each log-in, until it ends.
create table ledger.session (
  -- Of the cookie.
  hash bytea primary key,
  -- Null: of the token in the gateway's environment.
  token uuid references ledger.token (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index session_expires on ledger.session (expires_at);

-- From where a decision came: the address of an HTTP client.
alter table ledger.audit add column address text;
