-- oldest binary: 1
-- The ledger of each tenant. In the home ledger, the table has a row for every tenant. In any
-- ledger, it has a row for each tenant that lives there, and for each tenant that was moved away:
-- this row names the other ledger. Without the option `ledgers`, the table is empty. Older binaries
-- do not use it.
create table ledger.tenant_place (
  tenant text primary key,
  ledger text not null,
  -- Set while the tenant is being moved to this ledger.
  moving_to text,
  -- The previous ledger of the tenant. Set after the switch, until the rows are deleted there.
  moved_from text,
  -- When the tenant left this ledger. Null: it never left, or it came back.
  left_at timestamptz,
  changed_at timestamptz not null default now()
);

-- Rejects a receipt of a tenant that was moved to another ledger: a process that has not noticed
-- the move must not record it here. The move adds the trigger, so inserts cost nothing extra before
-- a move.
create function ledger.refuse_moved() returns trigger language plpgsql as $$
begin
  -- Allows the copy of a move that brings the tenant back.
  if current_setting('hookonce.moving', true) = new.tenant then
    return new;
  end if;
  raise exception 'the tenant % lives in another ledger', new.tenant using errcode = 'HK001', detail = new.tenant;
end
$$;
