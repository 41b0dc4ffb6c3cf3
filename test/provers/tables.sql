create table seen (event_id text primary key, seen_at timestamptz not null default now());
create table invoice (id text primary key, amount integer not null, version bigint not null);
create table payment (
  id bigint generated always as identity primary key,
  invoice_id text not null,
  paid_at timestamptz not null default now()
);
