-- oldest binary: 1
-- Access to the admin API. Tokens and sessions are stored as hashes, so reading these tables gives
-- no access.

create table ledger.token (
  id uuid primary key default gen_random_uuid(),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- Precise to the minute.
  used_at timestamptz,
  name text not null,
  role text not null,
  -- Null: the token may access every tenant.
  tenant text,
  -- Whether the token may read bodies, headers and payloads.
  bodies boolean not null,
  created_by text not null,
  -- SHA-256 of 256 random bits.
  hash bytea not null unique
);

-- The audit names tokens, so two live tokens must not have the same name.
create unique index token_name on ledger.token (name) where revoked_at is null;

-- Sessions of browsers. The table is small: one row for each log-in, until it ends.
create table ledger.session (
  -- The hash of the cookie.
  hash bytea primary key,
  -- Null: the session was opened with the token in the gateway's environment.
  token uuid references ledger.token (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index session_expires on ledger.session (expires_at);

-- The address of the HTTP client that sent the decision.
alter table ledger.audit add column address text;
