import fc from 'fast-check'

/*
 * Jobs that hand over writes with ctx.write, as data: valid ones, and every way to fail or to
 * change the session. Changes of the session are hidden in functions, because ctx.write rejects a
 * statement that shows them.
 */
export interface Member {
  readonly kind: string
  readonly statements: readonly MemberStatement[]
  /** A mistake of the program, which no retry can fix: it fails at the first attempt. */
  readonly isFinal?: boolean
  /** Only the first of several such members is committed, so all of them write the same rows. */
  readonly isRival?: boolean
}

export interface MemberStatement {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly rows?: number
}

/** Every class of PostgreSQL's list of error codes, except success. */
const CLASSES =
  '01 02 03 08 09 0A 0B 0F 0L 0P 0Z 10 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42 44 53 54 55 57 58 72 F0 HV P0 XX'.split(
    ' ',
  )

/** Codes with their own rule in write-faults.ts, and similar codes. */
const SPECIAL =
  '08000 08003 08006 08P01 25P02 25P03 25P04 26000 40001 40003 40P01 42P03 42P05 53100 53200 53300 53400 55P03 55P04 57000 57014 57P01 57P02 57P03 57P04 57P05 58000 58030 XX000 XX001'.split(
    ' ',
  )

/** Roles belong to the server, and other tests create the same role. */
export const MEMBER_ROLE = `do $$ begin create role leaked;
  exception when duplicate_object or unique_violation then null; end $$`

const WROTE = 'member text, role text, path text, tenant text, work_mem text'

export const MEMBER_TABLES = `
  create table wrote (${WROTE});
  create schema tenant_a;
  create table tenant_a.wrote (${WROTE});
  create table counter (id int primary key, n int not null);
  create table claimed (name text primary key);
  create table parent (id text primary key);
  create table child (parent text references parent deferrable initially deferred);
  create table late (failure text);
  create table loud (leak text);
  create table held (n int);
  insert into counter values (1, 0), (2, 0), (3, 0);
  insert into held values (0);
  grant usage on schema public, tenant_a to leaked;
  grant insert on wrote, tenant_a.wrote to leaked;
  create function fail(code text) returns void language plpgsql as $$ begin
    if code = 'end' then perform pg_terminate_backend(pg_backend_pid());
    else raise exception 'failed with %', code using errcode = code; end if;
  end $$;
  create function leak(how text) returns void language plpgsql as $$ begin execute how; end $$;
  create function fail_late() returns trigger language plpgsql as $$ begin
    perform fail(new.failure); return null; end $$;
  create function leak_late() returns trigger language plpgsql as $$ begin
    perform leak(new.leak); return null; end $$;
  create constraint trigger late after insert on late deferrable initially deferred
    for each row execute function fail_late();
  create constraint trigger loud after insert on loud deferrable initially deferred
    for each row execute function leak_late();`

/** The rows that the members wrote, as one JSON value. Their order does not count. */
export const MEMBER_ROWS = `select json_build_object(
  'wrote', (select json_agg(w order by w::text) from wrote w),
  'elsewhere', (select json_agg(w order by w::text) from tenant_a.wrote w),
  'counter', (select json_agg(c order by id) from counter c),
  'claimed', (select json_agg(c order by name) from claimed c),
  'child', (select json_agg(c order by parent) from child c),
  'late', (select count(*) from late),
  'loud', (select json_agg(l order by leak) from loud l)) as rows`

export const EMPTY_MEMBER_TABLES = `truncate wrote, tenant_a.wrote, claimed, parent, child, late, loud;
  update counter set n = 0`

/** Changes of a session, as a function would make them. */
const LEAKS = [
  'set search_path = tenant_a',
  'set local search_path = tenant_a',
  `select set_config('app.tenant', 'a', true)`,
  `select set_config('app.tenant', 'a', false)`,
  `set work_mem = '65kB'`,
  'set local role leaked',
  'set role leaked',
  'set session authorization leaked',
  'set transaction_read_only = on',
  'set default_transaction_read_only = on',
  'set constraints all immediate',
  'set statement_timeout = 100',
  'set synchronous_commit = off',
  `create temp table if not exists wrote (${WROTE})`,
  'create temp table own (n int) on commit drop',
  'create temp table kept (n int)',
  'select pg_advisory_lock(1)',
  'declare kept cursor with hold for select 1',
  'prepare kept as select 1',
  'deallocate all',
  'listen kept',
  `select nextval(pg_get_serial_sequence('hookonce.audit', 'id'))`,
]

const seen = (member: string): MemberStatement => ({
  text: `insert into wrote (member, role, path, tenant, work_mem) values ($1, current_user,
    current_setting('search_path'), coalesce(current_setting('app.tenant', true), ''), current_setting('work_mem'))`,
  values: [member],
  rows: 1,
})

const codes = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...SPECIAL) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...CLASSES), fc.stringMatching(/^[0-9A-Z]{3}$/))
      .map(([one, rest]) => `${one}${rest}`),
  },
)

const UNSENDABLE = {
  toPostgres() {
    throw new Error('this value has no text')
  },
}

const statement = (text: string, values: readonly unknown[] = []): MemberStatement => ({ text, values })

const good = fc.oneof(
  fc.record({ kind: fc.constant('plain'), statements: fc.constant([]) }),
  fc.integer({ min: 1, max: 3 }).map((id) => ({
    kind: `counts ${id}`,
    statements: [{ ...statement('update counter set n = n + 1 where id = $1', [id]), rows: 1 }],
  })),
  fc.constant({
    kind: 'needs the constraint to be deferred',
    statements: [
      statement('insert into child values ($1)', ['a']),
      statement('insert into parent values ($1) on conflict do nothing', ['a']),
    ],
  }),
)

const leaking = fc
  .tuple(fc.constantFrom(...LEAKS), fc.constantFrom('select leak($1)', 'insert into loud values ($1)'))
  .map(([leak, text]) => ({ kind: `${text}: ${leak}`, statements: [statement(text, [leak])] }))

const failing: fc.Arbitrary<Member> = fc.oneof(
  codes.map((code) => ({ kind: code, statements: [statement('select fail($1)', [code])] })),
  codes.map((code) => ({
    kind: `${code} at commit`,
    statements: [statement('insert into late values ($1)', [code])],
  })),
  fc.integer({ min: 1, max: 3 }).map((name) => ({
    kind: `claims ${name}`,
    statements: [statement('insert into claimed values ($1)', [String(name)])],
    isRival: true,
  })),
  fc.constantFrom<Member[]>(
    { kind: 'no parent at commit', statements: [statement('insert into child values ($1)', ['none'])] },
    {
      kind: 'changes no row',
      statements: [{ ...statement('update counter set n = 9 where id = 9'), rows: 1 }],
    },
    { kind: 'no SQL', statements: [statement('insert nothing at all')] },
    { kind: 'two statements', statements: [statement('select 1; commit')] },
    { kind: 'no such table', statements: [statement('insert into nowhere values (1)')] },
    { kind: 'too few values', statements: [statement('insert into claimed values ($1)')] },
    { kind: 'too many values', statements: [statement('select 1', ['a'])] },
    { kind: 'a wrong value', statements: [statement('update counter set n = $1', ['many'])] },
    { kind: 'a zero byte', statements: [statement('insert into claimed values ($1)', ['a\0b'])] },
    { kind: 'no text for the value', statements: [statement('select $1', [UNSENDABLE])], isFinal: true },
    {
      kind: 'statement timeout',
      statements: [
        statement('select leak($1)', ['set statement_timeout = 20']),
        statement('select pg_sleep(20)'),
      ],
    },
    {
      kind: 'lock timeout',
      statements: [
        statement('select leak($1)', ['set lock_timeout = 20']),
        statement('update held set n = 1'),
      ],
    },
    { kind: 'its own end', statements: [statement('select fail($1)', ['end'])] },
    { kind: 'its own end at commit', statements: [statement('insert into late values ($1)', ['end'])] },
    { kind: 'a commit in a procedure', statements: [statement(`do $$ begin commit; end $$`)] },
  ),
)

/** A member that records which session its own statements run in, before, after or around them. */
function member(kinds: fc.Arbitrary<Member>): fc.Arbitrary<Member> {
  return fc.tuple(kinds, fc.constantFrom('before', 'after', 'both')).map(([one, drawn]) => {
    const place = one.isRival ? 'both' : drawn
    return {
      ...one,
      statements: [
        ...(place === 'after' ? [] : [seen(one.kind)]),
        ...one.statements,
        ...(place === 'before' ? [] : [seen(one.kind)]),
      ],
    }
  })
}

/** Mostly valid members: if many fail, most are committed one by one anyway. */
export const memberBatches: fc.Arbitrary<readonly Member[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: member(good) },
    { weight: 2, arbitrary: member(leaking) },
    { weight: 2, arbitrary: member(failing) },
  ),
  { minLength: 2, maxLength: 16 },
)
