import { DURABLE } from '../../../sql/durable.ts'

/*
 * The statements of the PostgreSQL store, for a table of a given name. Times are truncated to
 * milliseconds, so that a record in JavaScript equals its row. clock_timestamp() instead of now(),
 * because a transaction may be as old as its handler. Statements whose result a client sees, or
 * later work relies on, wait for the disk.
 */
export function statements(table: string) {
  const now = `date_trunc('milliseconds', clock_timestamp())`
  const ms = (time: string): string => `(extract(epoch from ${time}) * 1000)::float8`
  const after = (time: string, milliseconds: string): string =>
    `${time} + ${milliseconds}::float8 * interval '1 millisecond'`
  const columns = (from: string): string => `
    ${from}.state, ${from}.fence::float8 as fence, ${from}.fingerprint, ${from}.holder, ${from}.after, ${from}.result,
    ${ms(`${from}.locked_at`)} as "lockedAt", ${ms(`${from}.lock_until`)} as "lockUntil",
    ${ms(`${from}.expires_at`)} as "expiresAt"`
  const isHeld = `state in ('locked', 'unknown') and expires_at > ${now}`

  return {
    create: `
      create table if not exists ${table} (
        id bytea primary key,
        state text not null check (state in ('locked', 'completed', 'released', 'unknown')),
        fence bigint not null,
        fingerprint text not null,
        holder text not null,
        after text not null check (after in ('nothing', 'release', 'crash')),
        locked_at timestamptz not null,
        lock_until timestamptz not null,
        expires_at timestamptz not null,
        result bytea,
        steps jsonb
      ) with (fillfactor = 80); -- leaves room in the page for the completed version of a row
      create table if not exists ${table}_pledge (
        id bytea primary key,
        name text not null,
        pledge bytea not null,
        due_at timestamptz not null,
        expires_at timestamptz not null
      );
      create index if not exists ${table.replace(/^.*\./, '')}_pledge_due on ${table}_pledge (name, due_at)`,

    /*
     * $1 id $2 fingerprint $3 holder $4 lock $5 ttl $6 whether an expired lock may be taken over.
     * First a read, so that a replay costs no commit. The insert runs only if the read finds
     * nothing in the way. Its own condition then decides, on the newest version of the row. No row
     * at all means that another client was faster: retry.
     */
    acquire: `
      with asked as materialized (select ${now} as at, ${DURABLE} as durable),
      seen as materialized (
        select k.* from ${table} k, asked
        where k.id = $1 and k.expires_at > asked.at and not (
          k.fingerprint = $2 and (
            k.state = 'released' or (k.state = 'locked' and k.lock_until <= asked.at and k.holder <> $3 and $6::boolean)
          )
        )
      ),
      taken as (
        insert into ${table} as k
          (id, state, fence, fingerprint, holder, after, locked_at, lock_until, expires_at)
        select $1, 'locked', ${ms('at')}::bigint, $2, $3, 'nothing', at, ${after('at', '$4')}, ${after('at', '($4::float8 + $5)')}
        from asked where not exists (select from seen)
        on conflict (id) do update set
          state = 'locked', fence = greatest(k.fence + 1, excluded.fence), fingerprint = excluded.fingerprint,
          holder = excluded.holder, locked_at = excluded.locked_at, lock_until = excluded.lock_until,
          expires_at = excluded.expires_at, result = null,
          after = case when k.expires_at <= excluded.locked_at then 'nothing'
                       when k.state = 'released' then 'release' else 'crash' end,
          steps = case when k.expires_at <= excluded.locked_at then null else k.steps end
        where k.expires_at <= excluded.locked_at or (
          k.fingerprint = excluded.fingerprint and (
            k.state = 'released' or (k.state = 'locked' and k.lock_until <= excluded.locked_at and $6::boolean)
          )
        )
        returning k.*
      )
      select true as taken, ${ms('asked.at')} as now, ${columns('taken')} from taken, asked
      union all
      select false, ${ms('asked.at')}, ${columns('seen')} from seen, asked`,

    /** $1 id $2 fence of the expired lock. */
    giveUp: `
      update ${table} set state = 'unknown'
      where id = $1 and fence = $2 and state = 'locked' and lock_until <= ${now}
      returning ${DURABLE}`,

    /** $1 id $2 fence $3 lock $4 ttl */
    extend: `
      update ${table} set lock_until = ${after(now, '$3')}, expires_at = ${after(now, '($3::float8 + $4)')}
      where id = $1 and fence = $2 and state = 'locked' and expires_at > ${now}`,

    /** $1 id $2 fence $3 state $4 result $5 ttl */
    settle: `
      update ${table} set state = $3, result = $4, expires_at = ${after(now, '$5')},
        steps = case when $3 = 'completed' then null else steps end
      where id = $1 and fence = $2 and ${isHeld}
      returning ${DURABLE}`,

    read: `select ${columns('k')} from ${table} k where k.id = $1 and k.expires_at > ${now}`,

    /**
     * One scan per call: an index on the expiry would add a write to every acquire and every
     * completion.
     */
    sweep: `
      delete from ${table} where ctid = any (array(
        select ctid from ${table} where expires_at <= ${now} limit $1 for update skip locked
      ))`,

    /** $1 id $2 fence $3 name $4 result */
    saveStep: `
      update ${table}
      set steps = coalesce(steps, '{}') || jsonb_build_object($3::text, encode($4, 'base64'))
      where id = $1 and fence = $2 and state = 'locked' and expires_at > ${now}
      returning ${DURABLE}`,
    loadSteps: `select steps from ${table} where id = $1 and expires_at > ${now}`,

    /** $1 id $2 name $3 pledge $4 due $5 ttl */
    savePledge: `
      insert into ${table}_pledge (id, name, pledge, due_at, expires_at)
      values ($1, $2, $3, ${after(now, '$4')}, ${after(now, '$5')})
      on conflict (id) do update set
        name = excluded.name, pledge = excluded.pledge, due_at = excluded.due_at, expires_at = excluded.expires_at
      returning ${DURABLE}`,

    /** $1 name $2 limit $3 lease. Expired pledges stay due, so they are found and deleted here. */
    duePledges: `
      with due as materialized (
        select id, expires_at <= ${now} as expired from ${table}_pledge
        where name = $1 and due_at <= ${now} order by due_at limit $2 for update skip locked
      ),
      dropped as (delete from ${table}_pledge where id in (select id from due where expired))
      update ${table}_pledge set due_at = ${after(now, '$3')}
      where id in (select id from due where not expired)
      returning encode(id, 'hex') as id, pledge as bytes`,

    /** $1 id $2 name */
    dropPledge: `delete from ${table}_pledge where id = $1 and name = $2`,
  }
}
