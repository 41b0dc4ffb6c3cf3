-- oldest binary: 1
-- In which ledger a tenant lives. The table of the home ledger has a row for every tenant. The table of
-- each ledger has rows for the tenants that live there, and for those that were moved away: their
-- rows name another ledger. Empty without the option `ledgers`. Older binaries neither write nor
-- read it.
create table ledger.tenant_place (
  tenant text primary key,
  ledger text not null,
  -- Set while the tenant is being moved to this ledger.
  moving_to text,
  changed_at timestamptz not null default now()
);
