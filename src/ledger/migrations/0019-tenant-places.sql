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
  -- Set after the switch, until the rows are deleted there.
  moved_from text,
  -- When the tenant left this ledger. Null: it did not, or came back.
  left_at timestamptz,
  changed_at timestamptz not null default now()
);

-- Refuses a receipt of a tenant that was moved to another ledger: a process that has not noticed the
-- move must not record it here. A move adds the trigger that calls it; without a move, an insert costs
-- nothing more.
create function ledger.refuse_moved() returns trigger language plpgsql as $$
begin
  -- The copy of a move that brings the tenant back.
  if current_setting('hookonce.moving', true) = new.tenant then
    return new;
  end if;
  raise exception 'the tenant % lives in another ledger', new.tenant using errcode = 'HK001', detail = new.tenant;
end
$$;
