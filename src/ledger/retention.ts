import { AT_MOST, change, type Queryable, statement } from './statement.ts'

/*
 * Retention has two clocks: bodies go early, keys stay at least as long as any provider can retry. Each
 * statement takes a small batch from one shard, and passes over what another process is sweeping. A receipt with
 * live jobs is left alone, whatever its age: its work is not done.
 */

const SWEEP_BODIES = statement(
  'sweep_bodies',
  `with clock as materialized (
     select now() - max(body_seconds) * interval '1 second' as until,
       coalesce((select bodies_swept_to from hookonce.sweep where shard = $1::smallint), '-infinity') as since
     from hookonce.source
   ), due as materialized (
     select * from (
       select r.id from hookonce.receipt r
       where r.shard = $1::smallint
         and r.received_at >= (select since from clock) and r.received_at <= (select until from clock)
         and r.body is not null
         and not exists (select from hookonce.job j where j.shard = $1::smallint and j.receipt_id = r.id
           and j.state in ('received', 'processing', 'retrying', 'attention'))
       order by r.received_at limit $2::integer
       for update skip locked
     ) d ${AT_MOST}
   )
   update hookonce.receipt r set body_sha256 = sha256(r.body), body = null, headers = null from due d
   where r.shard = $1::smallint and r.id = d.id`,
)

/** Returns how many bodies went. */
export async function sweepBodies(db: Queryable, shard: number, limit: number): Promise<number> {
  return change(db, SWEEP_BODIES, [shard, limit])
}

/*
 * Moves the mark up to the oldest body that is still there, or to the clock's hand if none is. Kept apart from
 * the sweep, whose own changes are not visible inside its statement.
 */
const MARK_SWEPT = statement(
  'mark_swept',
  `with clock as materialized (
     select now() - max(body_seconds) * interval '1 second' as until,
       coalesce((select bodies_swept_to from hookonce.sweep where shard = $1::smallint), '-infinity') as since
     from hookonce.source
   )
   insert into hookonce.sweep (shard, bodies_swept_to)
   select $1::smallint, coalesce(
     (select r.received_at from hookonce.receipt r
      where r.shard = $1::smallint and r.received_at >= (select since from clock)
        and r.received_at <= (select until from clock) and r.body is not null
      order by r.received_at limit 1), until)
   from clock where until is not null
   on conflict (shard) do update set bodies_swept_to = excluded.bodies_swept_to`,
)

export async function markBodiesSwept(db: Queryable, shard: number): Promise<void> {
  await change(db, MARK_SWEPT, [shard])
}

const SWEEP_KEYS = statement(
  'sweep_keys',
  `with due as materialized (
     select * from (
       select r.id from hookonce.receipt r
       where r.shard = $1::smallint
         and r.received_at <= (select now() - max(key_seconds) * interval '1 second' from hookonce.source)
         and not exists (select from hookonce.job j where j.shard = $1::smallint and j.receipt_id = r.id
           and j.state in ('received', 'processing', 'retrying', 'attention'))
       order by r.received_at limit $2::integer
       for update skip locked
     ) d ${AT_MOST}
   ), jobs as (
     delete from hookonce.job j using due d where j.shard = $1::smallint and j.receipt_id = d.id
   ), attempts as (
     delete from hookonce.attempt a using due d where a.shard = $1::smallint and a.receipt_id = d.id
   ), steps as (
     delete from hookonce.step s using due d where s.shard = $1::smallint and s.receipt_id = d.id
   ), duplicates as (
     delete from hookonce.duplicate u using due d where u.shard = $1::smallint and u.receipt_id = d.id
   )
   delete from hookonce.receipt r using due d where r.shard = $1::smallint and r.id = d.id`,
)

/** Returns how many receipts went, with all that hung on them. */
export async function sweepKeys(db: Queryable, shard: number, limit: number): Promise<number> {
  return change(db, SWEEP_KEYS, [shard, limit])
}
